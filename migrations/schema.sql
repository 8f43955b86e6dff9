--
-- PostgreSQL database dump
--

--
-- Name: fold_text(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.fold_text(value text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
begin
  value := lower(value collate "C");
  if octet_length(value) = length(value) then
    return value;
  end if;
  -- Versions of PostgreSQL normalize characters differently that are new since Unicode 14.
  if value !~ (
      '[\u0897\U000105c9\U000105e4\U00010d69-\U00010d6d\U00010efd-\U00010eff\U00011383'
      '\U00011385\U0001138e\U00011391\U000113c5\U000113c7-\U000113c8\U000113ce-\U000113d0'
      '\U00011f41-\U00011f42\U00016121-\U00016128\U0001612f\U00016d68-\U00016d6a\U0001ccd6-'
      '\U0001ccf9\U0001e030-\U0001e06d\U0001e08f\U0001e4ec-\U0001e4ef\U0001e5ee-\U0001e5ef]') then
    value := lower(normalize(value, nfkc) collate "C");
  end if;
  -- The usual letters of the Latin, Greek and Cyrillic scripts.
  if value ~ '[\u00c0-\u017e\u0386-\u03ab\u0400-\u042f]' then
    value := replace(translate(value,
      'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒ'
      'ŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΤΥΦΧΨΩΪΫЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏ'
      'АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ',
      'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœ'
      'ŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžάέήίόύώαβγδεζηθικλμνξοπρτυφχψωϊϋѐёђѓєѕіїјљњћќѝўџ'
      'абвгдежзийклмнопрстуфхцчшщъыьэюя'),
      U&'\0130', U&'i\0307');
  end if;
  -- All other blocks that have capital letters.
  if value ~ ('[\u0181-\u024f\u0370-\u037f\u03cf-\u03ff\u0460-\u0556\u10a0-\u10ff\u13a0-\u13ff'
      '\u1c90-\u1cbf\u1e00-\u24ff\u2c00-\u2cff\ua640-\ua7ff\uff21-\uff3a\U00010400-\U0001e921]') then
    value := translate(value,
      'ƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂ'
      'ȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿϏϘϚϜϞϠϢϤϦϨϪϬϮϴϷϹϺϽϾϿѠѢѤѦѨѪѬѮѰ'
      'ѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄ'
      'ԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪ'
      'ႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈ'
      'ᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨ'
      'ᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿḀḂḄḆḈḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘṚṜṞṠ'
      'ṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẞẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴ'
      'ỶỸỺỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨ'
      'ᾩᾪᾫᾬᾭᾮᾯᾸᾹᾺΆᾼῈΈῊΉῌῘῙῚΊῨῩῪΎῬῸΌῺΏῼΩKÅℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯↃⒶⒷⒸⒹⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇ'
      'ⓈⓉⓊⓋⓌⓍⓎⓏⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾ'
      'ⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞ'
      'ꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐ'
      'ꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟐꟖꟘꟵＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆'
      '𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰'
      '𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣'
      '𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖'
      '𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡',
      'ɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭʈưʊʋƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃ'
      'ȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳϗϙϛϝϟϡϣϥϧϩϫϭϯθϸϲϻͻͼͽѡѣѥѧѩѫѭѯѱ'
      'ѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅ'
      'ԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊ'
      'ⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘ'
      'ꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽაბგდევზთიკლმნოპჟრსტუფქღყშ'
      'ჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿḁḃḅḇḉḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙṛṝṟṡ'
      'ṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕßạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵ'
      'ỷỹỻỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠ'
      'ᾡᾢᾣᾤᾥᾦᾧᾰᾱὰάᾳὲέὴήῃῐῑὶίῠῡὺύῥὸόὼώῳωkåⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺⅻⅼⅽⅾⅿↄⓐⓑⓒⓓⓔⓕⓖⓗⓘⓙⓚⓛⓜⓝⓞⓟⓠⓡ'
      'ⓢⓣⓤⓥⓦⓧⓨⓩⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿ'
      'ɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟ'
      'ꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑ'
      'ꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊꟑꟗꟙꟶａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮'
      '𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗'
      '𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣'
      '𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶'
      '𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃');
  end if;
  -- At the end of a word, a capital sigma has a small letter of its own.
  if value like '%Σ%' then
    value := replace(regexp_replace(value,
      '(?<=[a-z\u00df-\u00f6\u00f8-\u024f\u0370-\u0386\u0388-\u052f\u1e00-\u1fff]'
      '[''.:\u00b7\u2019\u0300-\u036f]*)Σ'
      '(?![''.:\u00b7\u2019\u0300-\u036f]*'
      '[a-z\u00df-\u00f6\u00f8-\u024f\u0370-\u0386\u0388-\u052f\u1e00-\u1fff])', 'ς', 'g'), 'Σ', 'σ');
  end if;
  return value;
end $$;


--
-- Name: FUNCTION fold_text(value text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.fold_text(value text) IS 'Returns text in the form in which addresses and names are compared: normalized, in small letters.';


--
-- Name: email_key(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.email_key(address text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN public.fold_text(btrim(address));


--
-- Name: FUNCTION email_key(address text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.email_key(address text) IS 'Returns the form in which addresses are compared: two addresses with the same key are the same.';


--
-- Name: forget_events(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.forget_events(former text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
declare
  app text;
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events forgets them' using errcode = 'insufficient_privilege';
  end if;
  if exists (select 1 from users u where u.user_id = former)
    or exists (select 1 from apps p where p.app_id = former) or former = repeat('0', 24) then
    raise exception 'the owner of these events exists' using errcode = 'insufficient_privilege';
  end if;
  select a.app_id into app from audit a where a.user_id = former limit 1;
  if exists (
    select 1 from apps p where p.app_id = app and p.settings ->> 'deleted_user_events' = 'none') then
    delete from audit a
    where a.user_id = former and a.action <> 'user_delete' and not a.pending;
  end if;
  update audit a set address = null, agent = null
  where a.user_id = former and (a.address is not null or a.agent is not null)
    and (a.action <> 'user_delete' or a.actor = 'user');
end
$$;


--
-- Name: FUNCTION forget_events(former text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.forget_events(former text) IS 'Removes the addresses and agents of the events of a deleted user. If the app keeps no events of deleted users, it removes the events, except for the deletion.';


--
-- Name: has_second_factor(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.has_second_factor(amr text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((' '::text || amr) || ' '::text) ~~ '% mfa %'::text);


--
-- Name: FUNCTION has_second_factor(amr text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.has_second_factor(amr text) IS 'Returns whether authentication methods (sessions.amr) include a second factor.';


--
-- Name: management_scopes(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.management_scopes() RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{
    "read:users": "Read users",
    "create:users": "Create users",
    "update:users": "Change users",
    "delete:users": "Delete users",
    "read:users_app_metadata": "Read app metadata",
    "create:users_app_metadata": "Create app metadata",
    "update:users_app_metadata": "Change app metadata",
    "delete:users_app_metadata": "Delete app metadata",
    "read:logs": "Read logs",
    "read:logs_users": "Read the logs of users",
    "read:sessions": "Read sessions",
    "delete:sessions": "End sessions",
    "read:refresh_tokens": "Read refresh tokens",
    "delete:refresh_tokens": "Revoke refresh tokens",
    "read:roles": "Read roles",
    "create:roles": "Create roles",
    "update:roles": "Change roles",
    "delete:roles": "Delete roles",
    "read:role_members": "Read the users of roles",
    "create:role_members": "Assign roles to users",
    "delete:role_members": "Remove roles from users",
    "create:user_tickets": "Create links that verify addresses and reset passwords",
    "read:clients": "Read clients",
    "create:clients": "Create clients",
    "update:clients": "Change clients",
    "delete:clients": "Delete clients",
    "read:client_keys": "Read clients",
    "update:client_keys": "Replace the secrets of clients",
    "read:connections": "Read connections",
    "read:resource_servers": "Read APIs",
    "create:resource_servers": "Create APIs",
    "update:resource_servers": "Change APIs",
    "delete:resource_servers": "Delete APIs",
    "read:client_grants": "Read grants",
    "create:client_grants": "Create grants",
    "update:client_grants": "Change grants",
    "delete:client_grants": "Delete grants",
    "read:current_user": "Read your profile and metadata",
    "create:current_user_metadata": "Create your metadata",
    "update:current_user_metadata": "Change your metadata",
    "delete:current_user_metadata": "Delete your metadata",
    "update:current_user_identities": "Link and unlink your accounts"
  }'::json;


--
-- Name: FUNCTION management_scopes(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.management_scopes() IS 'Returns the scopes of the Management API of Auth0 that Dossier has, with their descriptions.';


--
-- Name: meets_mfa(boolean, text, text, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.meets_mfa(is_required boolean, amr text, provider text, is_guest boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((NOT is_required) OR public.has_second_factor(amr) OR (provider = 'api-key'::text) OR is_guest);


--
-- Name: FUNCTION meets_mfa(is_required boolean, amr text, provider text, is_guest boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.meets_mfa(is_required boolean, amr text, provider text, is_guest boolean) IS 'Returns whether a session may continue in an app that may require second factors. Guests and API keys need none.';


--
-- Name: merge_patch(jsonb, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.merge_patch(target jsonb, patch jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
begin
  if jsonb_typeof(patch) <> 'object' then
    return patch;
  end if;
  return (
    select coalesce(jsonb_object_agg(coalesce(p.key, t.key), case
      when p.key is null then t.value
      when jsonb_typeof(p.value) = 'object' then merge_patch(t.value, p.value)
      else p.value end), '{}')
    from jsonb_each(case when jsonb_typeof(target) = 'object' then target else '{}' end) t
    full join jsonb_each(patch) p on p.key = t.key
    where p.key is null or jsonb_typeof(p.value) <> 'null'
  );
end
$$;


--
-- Name: FUNCTION merge_patch(target jsonb, patch jsonb); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.merge_patch(target jsonb, patch jsonb) IS 'Returns a document after a merge patch (RFC 7396), in one pass over its members. The recursion is as deep as the patch, which the server limits.';


--
-- Name: move_events(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.move_events(former text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events moves them' using errcode = 'insufficient_privilege';
  end if;
  if exists (select 1 from users u where u.user_id = former)
    or exists (select 1 from apps p where p.app_id = former) or former = repeat('0', 24) then
    raise exception 'the owner of these events exists' using errcode = 'insufficient_privilege';
  end if;
  insert into audit (user_id, event_id, app_id, at, action, actor, session_id, device_id, address,
    agent, detail, ordinal, pending, request_id)
  select a.app_id, a.event_id, a.app_id, a.at, a.action, a.actor, a.session_id, a.device_id,
    a.address, a.agent, a.detail || jsonb_build_object('former_user', a.user_id), a.ordinal, a.pending,
    a.request_id
  from audit a where a.user_id = former;
  delete from audit a where a.user_id = former;
end
$$;


--
-- Name: FUNCTION move_events(former text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.move_events(former text) IS 'Moves the events of a deleted user to the app, where a new user with the id does not see them.';


--
-- Name: name_key(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.name_key(name text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN "left"(public.fold_text(name), 256);


--
-- Name: FUNCTION name_key(name text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.name_key(name text) IS 'Returns the form in which searches compare names. It is short enough for an index.';


--
-- Name: name_words(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.name_words(app text, names text) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN array_remove(array_remove(string_to_array(replace((' '::text || translate(names, '!"''()*,-./:;_`·‐–—’'::text, repeat(' '::text, 20))), ' '::text, ((' '::text || app) || ':'::text)), ' '::text), (app || ':'::text)), ''::text);


--
-- Name: FUNCTION name_words(app text, names text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.name_words(app text, names text) IS 'Returns the words of names that name_key has folded, each after the id of the app.';


--
-- Name: name_lexemes(text, text, text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.name_lexemes(app text, name text, given text, family text, nick text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT array_to_tsvector(public.name_words(app, (((COALESCE((public.name_key(name) || ' '::text), ''::text) || COALESCE((public.name_key(given) || ' '::text), ''::text)) || COALESCE((public.name_key(family) || ' '::text), ''::text)) || COALESCE(public.name_key(nick), ''::text)))) AS array_to_tsvector);


--
-- Name: FUNCTION name_lexemes(app text, name text, given text, family text, nick text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.name_lexemes(app text, name text, given text, family text, nick text) IS 'Returns the words of the names of a user of an app, as the index of words has them.';


--
-- Name: name_query(text, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.name_query(app text, names text, suffix text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((SELECT string_agg((((''''::text || replace(replace(word.word, '\'::text, '\\'::text), ''''::text, ''''''::text)) || ''''::text) || name_query.suffix), ' & '::text) AS string_agg FROM unnest(public.name_words(name_query.app, public.name_key(name_query.names))) word(word)))::tsquery;


--
-- Name: FUNCTION name_query(app text, names text, suffix text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.name_query(app text, names text, suffix text) IS 'Returns the query for users that have all these words; with the suffix :* for their beginnings.';


--
-- Name: new_object_id(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.new_object_id() RETURNS text
    LANGUAGE sql PARALLEL SAFE
    RETURN (to_hex(((date_part('epoch'::text, clock_timestamp()) * (1048576)::double precision))::bigint) || "left"(replace((gen_random_uuid())::text, '-'::text, ''::text), 11));


--
-- Name: FUNCTION new_object_id(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.new_object_id() IS 'Returns a new id. Its first 52 bits are the time in units of 2^-20 seconds, so ids sort by time; the others are random. The body is one expression, so the planner inlines it.';


--
-- Name: patched(jsonb, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.patched(patch jsonb, member text, stored text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (patch ? member) THEN (patch ->> member) ELSE stored END;


--
-- Name: FUNCTION patched(patch jsonb, member text, stored text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.patched(patch jsonb, member text, stored text) IS 'Returns the value of a column after a patch: that of the member, null included, or else the stored one.';


--
-- Name: remove_event(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.remove_event(owner text, event text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
declare
  app text;
  yesterday text collate "C" :=
    lpad(to_hex(extract(epoch from now() - interval '1 day')::bigint), 8, '0');
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events removes them' using errcode = 'insufficient_privilege';
  end if;
  select a.app_id into app from audit a where a.user_id = owner and a.event_id = event;
  if event >= yesterday
    and (app = repeat('0', 24) or exists (select 1 from apps p where p.app_id = app)) then
    return false;
  end if;
  delete from audit a where a.user_id = owner and a.event_id = event
    and (not a.pending or not exists (select 1 from apps p where p.app_id = app));
  return found;
end
$$;


--
-- Name: FUNCTION remove_event(owner text, event text); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.remove_event(owner text, event text) IS 'Removes an event that is older than a day or whose app is deleted, and returns whether it did. So an intruder cannot remove the traces of the last day.';


--
-- Name: require(boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.require(holds boolean) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
begin
  if holds is not true then
    raise exception using errcode = 'XD003', message = 'a requirement does not hold';
  end if;
  return true;
end
$$;


--
-- Name: FUNCTION require(holds boolean); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.require(holds boolean) IS 'Raises an error unless the condition holds, so that the transaction is undone.';


--
-- Name: settle_events(text, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.settle_events(owner text, events text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
  if not has_table_privilege(session_user, 'audit', 'insert') then
    raise exception 'only a role that adds events settles them' using errcode = 'insufficient_privilege';
  end if;
  update audit a set pending = false
  where a.user_id = owner and a.event_id = any (events) and a.pending;
end
$$;


--
-- Name: FUNCTION settle_events(owner text, events text[]); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.settle_events(owner text, events text[]) IS 'Marks events of a user as published.';


--
-- Name: user_data_scopes(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.user_data_scopes() RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{
    "read:current_user": "See your profile and your data",
    "create:current_user_metadata": "Add data for you",
    "update:current_user_metadata": "Change your profile and your data",
    "delete:current_user_metadata": "Delete your data",
    "update:current_user_identities": "Change how you sign in, and delete your account"
  }'::json;


--
-- Name: FUNCTION user_data_scopes(); Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON FUNCTION public.user_data_scopes() IS 'Returns the scopes of the API of /v1 that clients can get for users, with their descriptions.';


--
-- Name: additional_subjects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.additional_subjects (
    user_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    reserved_until timestamp with time zone
);


--
-- Name: TABLE additional_subjects; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.additional_subjects IS 'Subjects of users besides those that users and identities name: former addresses that are still reserved, and further foreign ids. identity_subjects cannot be searched by user.';


--
-- Name: COLUMN additional_subjects.reserved_until; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.additional_subjects.reserved_until IS 'As in identity_subjects; null for a foreign id.';


--
-- Name: administrators; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.administrators (
    user_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    email text NOT NULL,
    role text NOT NULL COLLATE pg_catalog."C",
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    disabled boolean GENERATED ALWAYS AS (COALESCE(((attributes ->> 'disabled'::text))::boolean, false)) STORED NOT NULL,
    link_hash bytea,
    link_expires_at timestamp with time zone,
    link_tries integer DEFAULT 0 NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT administrators_attributes_check CHECK ((jsonb_typeof(attributes) = 'object'::text)),
    CONSTRAINT administrators_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'support'::text, 'admin'::text, 'owner'::text])))
);


--
-- Name: TABLE administrators; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.administrators IS 'Administrators of the console. Each is a user of the app operators, with the same id.';


--
-- Name: COLUMN administrators.email; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.administrators.email IS 'The address of the user.';


--
-- Name: COLUMN administrators.attributes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.administrators.attributes IS 'What differs from the defaults, by the names that the API has: the apps in which the role holds, and networks.';


--
-- Name: COLUMN administrators.disabled; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.administrators.disabled IS 'Whether the administrator is refused.';


--
-- Name: COLUMN administrators.link_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.administrators.link_hash IS 'The hash of the link by which the administrator may set password and authenticator once; null without one.';


--
-- Name: COLUMN administrators.link_tries; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.administrators.link_tries IS 'How many codes the link still takes.';


--
-- Name: COLUMN administrators.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.administrators.version IS 'Grows by one with each change.';


--
-- Name: api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_keys (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    key_hash bytea NOT NULL,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT api_keys_key_id_check CHECK ((key_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE api_keys; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.api_keys IS 'API keys with which users sign in.';


--
-- Name: COLUMN api_keys.key_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.api_keys.key_hash IS 'A keyed hash of the key.';


--
-- Name: app_hosts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.app_hosts (
    host text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT app_hosts_host_check CHECK ((host = lower(host)))
);


--
-- Name: TABLE app_hosts; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.app_hosts IS 'Host names by which requests select an app.';


--
-- Name: apps; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.apps (
    app_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    document_versions_kept integer GENERATED ALWAYS AS (COALESCE(((settings ->> 'document_versions_kept'::text))::integer, 0)) STORED NOT NULL,
    anonymous_user_retention_days integer GENERATED ALWAYS AS (COALESCE(((settings ->> 'anonymous_user_retention_days'::text))::integer, 30)) STORED NOT NULL,
    CONSTRAINT apps_app_id_check CHECK ((app_id ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT apps_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text)),
    CONSTRAINT apps_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
);


--
-- Name: TABLE apps; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.apps IS 'Products. Each has its own users, settings, clients, APIs, issuers and keys.';


--
-- Name: COLUMN apps.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.apps.name IS 'The name by which requests and the command line select the app.';


--
-- Name: COLUMN apps.settings; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.apps.settings IS 'Settings that differ from the defaults, by the names that `dossier app set` takes.';


--
-- Name: COLUMN apps.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.apps.version IS 'Grows by one with each change of the name or the settings.';


--
-- Name: COLUMN apps.document_versions_kept; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.apps.document_versions_kept IS 'The setting document_versions_kept as a number, since each write of a document reads it.';


--
-- Name: COLUMN apps.anonymous_user_retention_days; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.apps.anonymous_user_retention_days IS 'The setting anonymous_user_retention_days as a number, for maintenance.';


--
-- Name: app_records; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.app_records AS
 SELECT a.app_id AS id,
    a.name,
    a.settings,
    COALESCE(( SELECT string_agg(h.host, ' '::text ORDER BY h.host) AS string_agg
           FROM public.app_hosts h
          WHERE (h.app_id = a.app_id)), ''::text) AS hosts,
    a.version,
    a.created_at,
    a.updated_at
   FROM public.apps a;


--
-- Name: VIEW app_records; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON VIEW public.app_records IS 'Apps as the API and the command line show them.';


--
-- Name: audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit (
    user_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone DEFAULT now() NOT NULL,
    action text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    session_id text COLLATE pg_catalog."C",
    device_id text COLLATE pg_catalog."C",
    address inet,
    agent text,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    ordinal bigint,
    pending boolean DEFAULT false NOT NULL,
    request_id text COLLATE pg_catalog."C",
    CONSTRAINT audit_event_id_check CHECK ((event_id ~ '^[0-9a-f]{24}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02');


--
-- Name: TABLE audit; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.audit IS 'Audit events. They outlive the user, so no foreign key refers to users.';


--
-- Name: COLUMN audit.user_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.audit.user_id IS 'The user concerned; the id of the app if the event concerns no known user.';


--
-- Name: COLUMN audit.actor; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.audit.actor IS 'user; client: followed by the id of the client; administrator: followed by the id; operator: followed by the name of the person for the command line; system for maintenance; or unauthenticated.';


--
-- Name: COLUMN audit.address; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.audit.address IS 'The IP address of the caller.';


--
-- Name: COLUMN audit.agent; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.audit.agent IS 'The User-Agent field of the request.';


--
-- Name: COLUMN audit.detail; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.audit.detail IS 'Members that depend on the action.';


--
-- Name: COLUMN audit.ordinal; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.audit.ordinal IS 'The order of publication: microseconds since 1970, taken after the lock on the row that the event is about. Null if no feed wanted the event.';


--
-- Name: COLUMN audit.pending; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.audit.pending IS 'Whether the event waits for its publication.';


--
-- Name: COLUMN audit.request_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.audit.request_id IS 'The id of the request in the log and in X-Request-Id; null for events of no request.';


--
-- Name: audit_entries; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.audit_entries AS
 SELECT a.event_id AS id,
    a.at,
    a.action,
    a.actor,
    NULLIF(a.user_id, a.app_id) AS user_id,
    a.session_id,
    a.device_id,
    host(a.address) AS address,
    a.agent,
    a.detail,
    p.name AS app,
    a.user_id AS subject_id,
    a.app_id,
    a.request_id
   FROM (public.audit a
     LEFT JOIN public.apps p ON ((p.app_id = a.app_id)));


--
-- Name: VIEW audit_entries; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON VIEW public.audit_entries IS 'Audit events as the API shows them. user_id is null if the event concerns the app itself; subject_id never is.';


--
-- Name: authentication_flows; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.authentication_flows (
    place text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    flow_id text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL COLLATE pg_catalog."C",
    email_key text COLLATE pg_catalog."C",
    email text,
    password_hash text COLLATE pg_catalog."C",
    code_hash bytea,
    provider text COLLATE pg_catalog."C",
    evidence text COLLATE pg_catalog."C",
    authenticated_at timestamp with time zone,
    tries integer NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    issuer_session text COLLATE pg_catalog."C",
    CONSTRAINT authentication_flows_flow_id_check CHECK ((flow_id ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT authentication_flows_place_check CHECK ((place ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT authentication_flows_purpose_check CHECK ((purpose = ANY (ARRAY['sign_in'::text, 'passwordless'::text, 'network_sign_in'::text, 'network_reset'::text, 'register'::text, 'link'::text, 'change_email'::text, 'second_factor'::text, 'enroll'::text, 'passkey'::text])))
);


--
-- Name: TABLE authentication_flows; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.authentication_flows IS 'Sign-ins, registrations and changes of an address that wait for a code or a second factor, and ceremonies of passkeys that were used.';


--
-- Name: COLUMN authentication_flows.place; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authentication_flows.place IS 'Whose flow it is: the user of a link, a change of address or a second factor. Else a hash of the address, or of the network of the client if the code alone names the flow.';


--
-- Name: COLUMN authentication_flows.password_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authentication_flows.password_hash IS 'The password of a registration, whose user is created when the code is entered.';


--
-- Name: COLUMN authentication_flows.code_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authentication_flows.code_hash IS 'A keyed hash of the mailed code. Null while none was sent, and if an authenticator app makes the codes.';


--
-- Name: COLUMN authentication_flows.provider; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authentication_flows.provider IS 'The provider of the credential that the first step verified.';


--
-- Name: COLUMN authentication_flows.evidence; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authentication_flows.evidence IS 'The stored form of that credential, by which the last step checks it again.';


--
-- Name: COLUMN authentication_flows.authenticated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authentication_flows.authenticated_at IS 'When the first step verified it.';


--
-- Name: COLUMN authentication_flows.tries; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authentication_flows.tries IS 'How many more codes may be entered.';


--
-- Name: COLUMN authentication_flows.issuer_session; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authentication_flows.issuer_session IS 'The same of the sign-in that waits for a second factor.';


--
-- Name: authorizations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.authorizations (
    app_id text NOT NULL COLLATE pg_catalog."C",
    authorization_id text NOT NULL COLLATE pg_catalog."C",
    client_id text NOT NULL COLLATE pg_catalog."C",
    request jsonb NOT NULL,
    browser_hash bytea NOT NULL,
    state bytea,
    step integer DEFAULT 0 NOT NULL,
    is_settled boolean DEFAULT true NOT NULL,
    claimed_at timestamp with time zone,
    user_id text COLLATE pg_catalog."C",
    session_id text COLLATE pg_catalog."C",
    device_id text COLLATE pg_catalog."C",
    scope text COLLATE pg_catalog."C",
    code_hash bytea,
    redeemed_at timestamp with time zone,
    redeemed_as text COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT authorizations_authorization_id_check CHECK ((authorization_id ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT authorizations_request_check CHECK ((jsonb_typeof(request) = 'object'::text))
);


--
-- Name: TABLE authorizations; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.authorizations IS 'Requests of OpenID Connect clients, until a day after they have expired.';


--
-- Name: COLUMN authorizations.request; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.request IS 'The parameters that were checked.';


--
-- Name: COLUMN authorizations.browser_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.browser_hash IS 'A keyed hash of the cookie of the browser that sent the request. No other browser continues it.';


--
-- Name: COLUMN authorizations.state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.state IS 'What the pages keep, such as the address and errors, encrypted with the master key.';


--
-- Name: COLUMN authorizations.step; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.step IS 'Grows by one with each form that was sent. A form is handled only once.';


--
-- Name: COLUMN authorizations.is_settled; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.is_settled IS 'False while a form of this step is handled.';


--
-- Name: COLUMN authorizations.claimed_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.claimed_at IS 'When a request began to handle the form, or had handled it. After 30 seconds, another may: the worker has ended.';


--
-- Name: COLUMN authorizations.user_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.user_id IS 'The user who has signed in and agreed; null before.';


--
-- Name: COLUMN authorizations.session_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.session_id IS 'The session of that user at the pages.';


--
-- Name: COLUMN authorizations.device_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.device_id IS 'The device of that session: the browser.';


--
-- Name: COLUMN authorizations.scope; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.scope IS 'The scopes that the client gets.';


--
-- Name: COLUMN authorizations.code_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.code_hash IS 'A keyed hash of the code; null before there is one.';


--
-- Name: COLUMN authorizations.redeemed_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.redeemed_at IS 'When the client exchanged the code. A later exchange ends the session that came of it.';


--
-- Name: COLUMN authorizations.redeemed_as; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.authorizations.redeemed_as IS 'That session.';


--
-- Name: client_grants; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.client_grants (
    app_id text NOT NULL COLLATE pg_catalog."C",
    client_id text NOT NULL COLLATE pg_catalog."C",
    resource_server_id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE client_grants; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.client_grants IS 'Scopes that a client gets at an API by its own secret, without a user (client_credentials).';


--
-- Name: COLUMN client_grants.scope; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.client_grants.scope IS 'The scopes, with spaces between them.';


--
-- Name: clients; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.clients (
    client_id text NOT NULL COLLATE pg_catalog."C",
    app_id text COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    scope text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    secret_hash bytea,
    secret_created_at timestamp with time zone,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    disabled_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT clients_client_id_check CHECK ((client_id ~ '^[0-9A-Za-z][0-9A-Za-z._~-]{0,63}$'::text)),
    CONSTRAINT clients_kind_check CHECK ((kind = ANY (ARRAY['native'::text, 'single_page'::text, 'web'::text, 'machine'::text]))),
    CONSTRAINT clients_operator CHECK (((app_id IS NOT NULL) OR (kind = 'machine'::text))),
    CONSTRAINT clients_secret CHECK ((num_nonnulls(secret_hash, secret_created_at) =
CASE
    WHEN (kind = ANY (ARRAY['native'::text, 'single_page'::text])) THEN 0
    ELSE 2
END)),
    CONSTRAINT clients_settings_check CHECK ((jsonb_typeof(settings) = 'object'::text))
);


--
-- Name: TABLE clients; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.clients IS 'OAuth clients: programs that sign users in to an app, back ends of apps, and programs of the operator.';


--
-- Name: COLUMN clients.client_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.clients.client_id IS 'The id that tokens have as their audience: 24 hexadecimal digits, or that of another server.';


--
-- Name: COLUMN clients.app_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.clients.app_id IS 'Null for a client of the operator, which may call every app.';


--
-- Name: COLUMN clients.kind; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.clients.kind IS 'The kind of program. Native and single-page clients are public: they cannot keep a secret.';


--
-- Name: COLUMN clients.scope; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.clients.scope IS 'Its scopes at the management API, with spaces between them.';


--
-- Name: COLUMN clients.secret_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.clients.secret_hash IS 'A keyed hash of its secret, or of the digest of one from another server. Null for a public client, which has none.';


--
-- Name: COLUMN clients.secret_created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.clients.secret_created_at IS 'The time of its secret.';


--
-- Name: COLUMN clients.settings; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.clients.settings IS 'Settings that differ from the defaults, by the names that `dossier client set` takes.';


--
-- Name: COLUMN clients.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.clients.version IS 'Grows by one with each change of the client.';


--
-- Name: connections; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.connections (
    app_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    client_secret bytea,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT connections_attributes_check CHECK ((jsonb_typeof(attributes) = 'object'::text)),
    CONSTRAINT connections_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text))
);


--
-- Name: TABLE connections; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.connections IS 'Other services to which an app sends its users to sign in, such as Google.';


--
-- Name: COLUMN connections.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.connections.name IS 'The name by which the operator, clients and routes know it.';


--
-- Name: COLUMN connections.client_secret; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.connections.client_secret IS 'The secret that the service has given the app, or Apple''s private key, encrypted with the master key.';


--
-- Name: COLUMN connections.attributes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.connections.attributes IS 'What differs from the defaults, by the names that `dossier connection set` takes.';


--
-- Name: COLUMN connections.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.connections.version IS 'Grows by one with each change.';


--
-- Name: consents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.consents (
    user_id text NOT NULL COLLATE pg_catalog."C",
    client_id text NOT NULL COLLATE pg_catalog."C",
    audience text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE consents; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.consents IS 'What users have allowed clients of OpenID Connect.';


--
-- Name: COLUMN consents.audience; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consents.audience IS 'The identifier of the API.';


--
-- Name: COLUMN consents.scope; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.consents.scope IS 'The scopes, with spaces between them.';


--
-- Name: count_progress; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.count_progress (
    app_id text NOT NULL COLLATE pg_catalog."C",
    counted_to text NOT NULL COLLATE pg_catalog."C",
    recounted_on date,
    CONSTRAINT count_progress_counted_to_check CHECK ((counted_to ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE count_progress; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.count_progress IS 'How far the numbers of an app are counted.';


--
-- Name: COLUMN count_progress.counted_to; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.count_progress.counted_to IS 'Events with smaller ids are counted.';


--
-- Name: COLUMN count_progress.recounted_on; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.count_progress.recounted_on IS 'The last day that was counted a second time.';


--
-- Name: daily_counts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.daily_counts (
    app_id text NOT NULL COLLATE pg_catalog."C",
    day date NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    value bigint NOT NULL,
    CONSTRAINT daily_counts_name_check CHECK ((name = ANY (ARRAY['sign_ups'::text, 'sign_ins'::text, 'failures'::text, 'rate_limits'::text, 'users'::text, 'active_users'::text])))
);


--
-- Name: TABLE daily_counts; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.daily_counts IS 'Numbers of an app on a day in UTC. A row is missing until its number is counted.';


--
-- Name: COLUMN daily_counts.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.daily_counts.name IS 'sign_ups: new users; failures: refused sign-ins; rate_limits: limits that were used up; users and active_users: counted in the night after the day.';


--
-- Name: device_accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.device_accounts (
    user_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    activated_at timestamp with time zone DEFAULT now() NOT NULL,
    assurance smallint DEFAULT 1 NOT NULL,
    CONSTRAINT device_accounts_assurance_check CHECK (((assurance >= 0) AND (assurance <= 2)))
);


--
-- Name: TABLE device_accounts; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.device_accounts IS 'Accounts on devices. Their state is computed: a user with a live session there is signed in, and of these the one with the latest activated_at is active.';


--
-- Name: COLUMN device_accounts.activated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.device_accounts.activated_at IS 'When the user last signed in on the device or was switched to.';


--
-- Name: COLUMN device_accounts.assurance; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.device_accounts.assurance IS 'How well the user authenticated there so far: 0 by an API key only, 1 by another credential, 2 by a second factor. Failed sign-ins of strangers do not limit a familiar device.';


--
-- Name: devices; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.devices (
    device_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    secret_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    previous_hash bytea,
    replaced_at timestamp with time zone,
    inactive_since timestamp with time zone,
    user_ids text[] DEFAULT '{}'::text[] NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT devices_device_id_check CHECK ((device_id ~ '^[0-9a-f]{24}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05', fillfactor='90');


--
-- Name: TABLE devices; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.devices IS 'Installations and browsers. Several users can be on one, so it is no user''s data.';


--
-- Name: COLUMN devices.secret_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.devices.secret_hash IS 'A keyed hash of the secret by which the device lists and switches its users. Each login replaces the secret.';


--
-- Name: COLUMN devices.previous_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.devices.previous_hash IS 'The hash before the last login, accepted for 30 seconds for requests that were under way.';


--
-- Name: COLUMN devices.replaced_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.devices.replaced_at IS 'When the last login replaced the secret.';


--
-- Name: COLUMN devices.inactive_since; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.devices.inactive_since IS 'Users last activated at or before this time are inactive; null for no such time.';


--
-- Name: COLUMN devices.user_ids; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.devices.user_ids IS 'The users who have signed in on the device. The rows in device_accounts decide who is still known there: a user without one does not count.';


--
-- Name: document_schemas; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.document_schemas (
    app_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    schema_id text NOT NULL COLLATE pg_catalog."C",
    body json NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT document_schemas_body_check CHECK ((octet_length((body)::text) <= 65536)),
    CONSTRAINT document_schemas_kind_check CHECK ((kind = ANY (ARRAY['metadata'::text, 'app_metadata'::text, 'custom_data'::text]))),
    CONSTRAINT document_schemas_schema_id_check CHECK ((schema_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE document_schemas; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.document_schemas IS 'JSON Schemas that an app''s documents must satisfy.';


--
-- Name: COLUMN document_schemas.schema_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.document_schemas.schema_id IS 'Changes with each change of the body. Workers then compile the schema again.';


--
-- Name: COLUMN document_schemas.body; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.document_schemas.body IS 'The schema as the operator wrote it.';


--
-- Name: document_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.document_versions (
    user_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    app_id text NOT NULL COLLATE pg_catalog."C",
    body jsonb,
    actor text NOT NULL COLLATE pg_catalog."C",
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    kept integer NOT NULL,
    session_id text COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');


--
-- Name: TABLE document_versions; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.document_versions IS 'Versions of documents, the present one included, in apps with the setting document_versions_kept.';


--
-- Name: COLUMN document_versions.body; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.document_versions.body IS 'Null if this version is a deletion.';


--
-- Name: COLUMN document_versions.actor; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.document_versions.actor IS 'As in the table audit.';


--
-- Name: COLUMN document_versions.kept; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.document_versions.kept IS 'How many versions the app kept when this one was written, or at the last maintenance.';


--
-- Name: COLUMN document_versions.session_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.document_versions.session_id IS 'The session that wrote this version; null if no user did, and for versions before this column.';


--
-- Name: documents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.documents (
    user_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    body jsonb NOT NULL,
    version bigint NOT NULL,
    deleted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    size integer GENERATED ALWAYS AS (octet_length((body)::text)) STORED NOT NULL,
    CONSTRAINT documents_body_check CHECK ((jsonb_typeof(body) = 'object'::text)),
    CONSTRAINT documents_kind_check CHECK ((kind = ANY (ARRAY['metadata'::text, 'app_metadata'::text, 'custom_data'::text]))),
    CONSTRAINT documents_size CHECK ((size <=
CASE kind
    WHEN 'custom_data'::text THEN 1048576
    ELSE 65536
END))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05', fillfactor='90');


--
-- Name: TABLE documents; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.documents IS 'Documents of users.';


--
-- Name: COLUMN documents.kind; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.documents.kind IS 'metadata: the user writes it. app_metadata: only back ends write it. custom_data: the user or back ends write it.';


--
-- Name: COLUMN documents.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.documents.version IS 'Grows by one with each change, a deletion included, so no version names two bodies.';


--
-- Name: COLUMN documents.deleted_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.documents.deleted_at IS 'When the document was deleted. The row remains for its version.';


--
-- Name: COLUMN documents.size; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.documents.size IS 'The bytes of the body as text. Statements read it before they print a body, which takes tens of milliseconds for a large one.';


--
-- Name: event_feeds; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.event_feeds (
    feed_id text NOT NULL COLLATE pg_catalog."C",
    last_position bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    leased_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    holder text COLLATE pg_catalog."C"
);


--
-- Name: TABLE event_feeds; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.event_feeds IS 'Feeds of events: one of each app under the id of the app, and one of what its verifiers must refuse under the id with the letter r. The row of zeros has the lease of the publisher.';


--
-- Name: COLUMN event_feeds.last_position; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.event_feeds.last_position IS 'The position of the newest event; whoever publishes locks this row.';


--
-- Name: COLUMN event_feeds.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.event_feeds.created_at IS 'Sessions that ended ten minutes before are no events of the feed.';


--
-- Name: COLUMN event_feeds.leased_until; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.event_feeds.leased_until IS 'Until then only the holder publishes, to avoid useless work.';


--
-- Name: feed_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.feed_events (
    feed_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    event_id text NOT NULL COLLATE pg_catalog."C",
    user_id text COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    data jsonb NOT NULL,
    CONSTRAINT feed_events_event_id_check CHECK ((event_id ~ '^[0-9a-f]{24}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.05');


--
-- Name: TABLE feed_events; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.feed_events IS 'Published events, at positions without gaps.';


--
-- Name: COLUMN feed_events.event_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.feed_events.event_id IS 'The id of the audit event; that of the session for the end of a session.';


--
-- Name: COLUMN feed_events.data; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.feed_events.data IS 'Ids, versions and reasons: no text of a user, no secret.';


--
-- Name: hosts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.hosts (
    name text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    master_key text NOT NULL,
    settings jsonb NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT hosts_name_check CHECK ((name <> ''::text))
);


--
-- Name: TABLE hosts; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.hosts IS 'Hosts that serve from this database. `dossier doctor` compares them.';


--
-- Name: COLUMN hosts.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.hosts.version IS 'The version of its programs.';


--
-- Name: COLUMN hosts.master_key; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.hosts.master_key IS 'The name of the master key that hashes the settings.';


--
-- Name: COLUMN hosts.settings; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.hosts.settings IS 'A keyed hash of the value of each setting that all hosts must share.';


--
-- Name: COLUMN hosts.seen_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.hosts.seen_at IS 'When a worker of the host last wrote this row.';


--
-- Name: idempotency_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.idempotency_keys (
    app_id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    key_hash bytea NOT NULL,
    request_hash bytea NOT NULL,
    answer bytea,
    expires_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05');


--
-- Name: TABLE idempotency_keys; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.idempotency_keys IS 'Answers to requests with an Idempotency-Key, which a repeated request gets again.';


--
-- Name: COLUMN idempotency_keys.app_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.app_id IS 'All zeros if a client of the operator calls without an app.';


--
-- Name: COLUMN idempotency_keys.owner; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.owner IS 'The user or client that sent the request. The answers of a user are deleted with it.';


--
-- Name: COLUMN idempotency_keys.key_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.key_hash IS 'A keyed hash of the Idempotency-Key.';


--
-- Name: COLUMN idempotency_keys.request_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.request_hash IS 'A keyed hash of the request. Another request with the same key is refused.';


--
-- Name: COLUMN idempotency_keys.answer; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.answer IS 'The answer, encrypted with the master key; null while the first request is under way.';


--
-- Name: COLUMN idempotency_keys.expires_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.idempotency_keys.expires_at IS 'When the answer is deleted. Without an answer: when another request may start, as the worker of the first one must have died.';


--
-- Name: identities; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.identities (
    user_id text NOT NULL COLLATE pg_catalog."C",
    identity_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    profile jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    verified_via_mail_only boolean DEFAULT false NOT NULL,
    password_hash text COLLATE pg_catalog."C",
    CONSTRAINT identities_identity_id_check CHECK ((identity_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE identities; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.identities IS 'Identities of users: what they sign in with.';


--
-- Name: COLUMN identities.provider; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identities.provider IS 'anonymous, password, email, api-key, linked-password for the address of a linked user, or jwt: followed by the iss of the issuer.';


--
-- Name: COLUMN identities.subject; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identities.subject IS 'The name of the user at the provider: the key of the address, the sub of a token, the id of an API key.';


--
-- Name: COLUMN identities.profile; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identities.profile IS 'Of a linked identity: the id, foreign id, address and names of the user it had before.';


--
-- Name: COLUMN identities.verified_via_mail_only; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identities.verified_via_mail_only IS 'Whether only a mail verified the address. Its reader may not be the user who chose the password, so the first reset revokes all other credentials.';


--
-- Name: COLUMN identities.password_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identities.password_hash IS 'The hash of the password of a linked address, as in passwords; null for other identities.';


--
-- Name: identity_subjects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.identity_subjects (
    app_id text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    identity_id text NOT NULL COLLATE pg_catalog."C",
    reserved_until timestamp with time zone,
    assigned boolean DEFAULT false NOT NULL
);


--
-- Name: TABLE identity_subjects; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.identity_subjects IS 'The user of each identity and address. An identity belongs to at most one user of an app. No foreign key, since several nodes distribute this table by another key than identities.';


--
-- Name: COLUMN identity_subjects.provider; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identity_subjects.provider IS 'As in identities; email stands for addresses, verified or not, and auth0 for users.foreign_id.';


--
-- Name: COLUMN identity_subjects.reserved_until; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identity_subjects.reserved_until IS 'For a former address of the user: until when no other user can have it. Infinity for a linked address. Null for the present one.';


--
-- Name: COLUMN identity_subjects.assigned; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identity_subjects.assigned IS 'Whether an operator, a back end or an import gave this address to the user. A link or a change by the user clears it.';


--
-- Name: identity_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.identity_tokens (
    user_id text NOT NULL COLLATE pg_catalog."C",
    identity_id text NOT NULL COLLATE pg_catalog."C",
    client_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    connection text NOT NULL COLLATE pg_catalog."C",
    token_id text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    is_due boolean DEFAULT false NOT NULL,
    CONSTRAINT identity_tokens_token_id_check CHECK ((token_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE identity_tokens; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.identity_tokens IS 'Refresh tokens of services, which are revoked there when an identity ends. The row of a deleted user stays until then.';


--
-- Name: COLUMN identity_tokens.client_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identity_tokens.client_id IS 'The client at the service that has got the token: that of the connection, or of a native app.';


--
-- Name: COLUMN identity_tokens.connection; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identity_tokens.connection IS 'The name of the connection to the service.';


--
-- Name: COLUMN identity_tokens.token_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identity_tokens.token_id IS 'A new id for each token, to which its encryption is bound.';


--
-- Name: COLUMN identity_tokens.sealed; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identity_tokens.sealed IS 'The token, encrypted with the master key.';


--
-- Name: COLUMN identity_tokens.is_due; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.identity_tokens.is_due IS 'Whether the identity has ended.';


--
-- Name: imports; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.imports (
    app_id text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    import_id text NOT NULL COLLATE pg_catalog."C",
    lines bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    digest bytea DEFAULT '\x'::bytea NOT NULL,
    created bigint DEFAULT 0 NOT NULL,
    updated bigint DEFAULT 0 NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    results_before bigint DEFAULT 0 NOT NULL,
    results text DEFAULT ''::text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT imports_import_id_check CHECK ((import_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE imports; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.imports IS 'The progress of imports, so that a killed one continues where it stopped.';


--
-- Name: COLUMN imports.source; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.source IS 'The name that the operator gave the input.';


--
-- Name: COLUMN imports.lines; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.lines IS 'Lines of the input that are read and committed.';


--
-- Name: COLUMN imports.bytes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.bytes IS 'Bytes of the input that are read and committed.';


--
-- Name: COLUMN imports.digest; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.digest IS 'SHA-256 of these bytes.';


--
-- Name: COLUMN imports.created; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.created IS 'Rows that created a user.';


--
-- Name: COLUMN imports.updated; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.updated IS 'Rows that changed a user.';


--
-- Name: COLUMN imports.skipped; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.skipped IS 'Rows that changed nothing.';


--
-- Name: COLUMN imports.failed; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.failed IS 'Rows that were refused.';


--
-- Name: COLUMN imports.results_before; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.results_before IS 'Bytes of results written before the last batch.';


--
-- Name: COLUMN imports.results; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.imports.results IS 'The results of the last batch. A run killed before it wrote them to its file writes them again.';


--
-- Name: issuers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.issuers (
    app_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL,
    secret bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT issuers_attributes_check CHECK ((jsonb_typeof(attributes) = 'object'::text)),
    CONSTRAINT issuers_keys CHECK ((num_nonnulls((attributes ->> 'jwks_url'::text), (attributes ->> 'jwks'::text), secret) = 1)),
    CONSTRAINT issuers_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text))
);


--
-- Name: TABLE issuers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.issuers IS 'Other issuers whose JSON Web Tokens sign users in to an app.';


--
-- Name: COLUMN issuers.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.issuers.name IS 'The name by which the operator and the routes know the issuer.';


--
-- Name: COLUMN issuers.issuer; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.issuers.issuer IS 'The iss claim of its tokens.';


--
-- Name: COLUMN issuers.secret; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.issuers.secret IS 'A key shared with it, encrypted with the master key.';


--
-- Name: COLUMN issuers.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.issuers.version IS 'Grows by one with each change.';


--
-- Name: COLUMN issuers.attributes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.issuers.attributes IS 'What differs from the defaults, by the names that `dossier issuer set` takes. Exactly one of jwks_url, jwks and the secret is set.';


--
-- Name: job_parts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.job_parts (
    job_id text NOT NULL COLLATE pg_catalog."C",
    part text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE job_parts; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.job_parts IS 'The input and the results of jobs, encrypted with the master key, at most 256 KB each.';


--
-- Name: COLUMN job_parts.part; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.job_parts.part IS 'The place of the part: in and the number of the upload and of the part in it, or out and its number.';


--
-- Name: jobs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.jobs (
    job_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    administrator_id text COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    parameters jsonb DEFAULT '{}'::jsonb NOT NULL,
    progress jsonb DEFAULT '{}'::jsonb NOT NULL,
    input_parts integer DEFAULT 0 NOT NULL,
    input_bytes bigint DEFAULT 0 NOT NULL,
    claim bigint DEFAULT 0 NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    claimed_until timestamp with time zone DEFAULT now() NOT NULL,
    error text COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT jobs_job_id_check CHECK ((job_id ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT jobs_kind_check CHECK ((kind = ANY (ARRAY['bulk'::text, 'import'::text, 'export'::text]))),
    CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['open'::text, 'checked'::text, 'running'::text, 'done'::text, 'stopped'::text, 'failed'::text])))
);


--
-- Name: TABLE jobs; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.jobs IS 'Work of administrators that a worker does beside requests. An app has at most one that runs.';


--
-- Name: COLUMN jobs.administrator_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.jobs.administrator_id IS 'Who has started it; null for the operator.';


--
-- Name: COLUMN jobs.parameters; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.jobs.parameters IS 'What to do, by the names that the API has.';


--
-- Name: COLUMN jobs.progress; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.jobs.progress IS 'Where the job is, what it has counted, and its first errors.';


--
-- Name: COLUMN jobs.input_parts; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.jobs.input_parts IS 'How many parts of input were uploaded.';


--
-- Name: COLUMN jobs.claim; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.jobs.claim IS 'Grows by one with each claim. A worker whose number is older has lost the job, and writes nothing.';


--
-- Name: COLUMN jobs.tries; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.jobs.tries IS 'Claims since the job got on, so that it does not run for ever.';


--
-- Name: COLUMN jobs.claimed_until; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.jobs.claimed_until IS 'Until then no other worker claims the job.';


--
-- Name: COLUMN jobs.error; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.jobs.error IS 'The code of the error that ended the job.';


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    user_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    device_id text NOT NULL COLLATE pg_catalog."C",
    client_id text COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    refresh_generation integer DEFAULT 1 NOT NULL,
    refresh_salt bytea NOT NULL,
    refreshed_at timestamp with time zone DEFAULT now() NOT NULL,
    refresh_theoretical_arrival_at timestamp with time zone DEFAULT now() NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    end_reason text COLLATE pg_catalog."C",
    address inet,
    agent text,
    authenticated_at timestamp with time zone DEFAULT now() NOT NULL,
    key_id text COLLATE pg_catalog."C",
    style text DEFAULT 'native'::text NOT NULL COLLATE pg_catalog."C",
    amr text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    browser_id text COLLATE pg_catalog."C",
    audience text COLLATE pg_catalog."C",
    issuer text COLLATE pg_catalog."C",
    notifies boolean DEFAULT false NOT NULL,
    issuer_session text COLLATE pg_catalog."C",
    administrator_id text COLLATE pg_catalog."C",
    revocation_position bigint,
    CONSTRAINT sessions_session_id_check CHECK ((session_id ~ '^[0-9a-f]{24}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02', fillfactor='90');


--
-- Name: TABLE sessions; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.sessions IS 'Sessions. Each access and refresh token belongs to one.';


--
-- Name: COLUMN sessions.client_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.client_id IS 'The OpenID Connect client; null for the other wires.';


--
-- Name: COLUMN sessions.provider; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.provider IS 'The provider of the identity that signed in.';


--
-- Name: COLUMN sessions.refresh_generation; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.refresh_generation IS 'The number of the valid refresh token. An older number tells a repeated refresh from a stolen token.';


--
-- Name: COLUMN sessions.refresh_salt; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.refresh_salt IS 'The refresh token is derived from this, the generation and the master key.';


--
-- Name: COLUMN sessions.refresh_theoretical_arrival_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.refresh_theoretical_arrival_at IS 'When the session may again refresh a hundred times at once. Each refresh moves it by six seconds.';


--
-- Name: COLUMN sessions.end_reason; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.end_reason IS 'Why the session ended, such as logout, blocked or refresh_reuse.';


--
-- Name: COLUMN sessions.address; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.address IS 'The IP address of the sign-in.';


--
-- Name: COLUMN sessions.agent; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.agent IS 'The User-Agent field of the sign-in.';


--
-- Name: COLUMN sessions.authenticated_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.authenticated_at IS 'When the user last authenticated in this session.';


--
-- Name: COLUMN sessions.key_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.key_id IS 'The API key or the passkey that opened the session, which ends with it; null for other credentials.';


--
-- Name: COLUMN sessions.style; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.style IS 'The wire of its tokens. No other wire refreshes or switches to the session.';


--
-- Name: COLUMN sessions.amr; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.amr IS 'The authentication methods (RFC 8176) of the user, with spaces between them.';


--
-- Name: COLUMN sessions.browser_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.browser_id IS 'The device of the user at the hosted pages from which a client of OpenID Connect got the session. Unlike the session there, it stays when the user signs in again.';


--
-- Name: COLUMN sessions.audience; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.audience IS 'The resource server whose access tokens an OpenID Connect client gets; null for none.';


--
-- Name: COLUMN sessions.issuer; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.issuer IS 'The issuer of the tokens of an OpenID Connect client; null for the other wires.';


--
-- Name: COLUMN sessions.notifies; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.notifies IS 'Whether the client still has to get a message when the session ends.';


--
-- Name: COLUMN sessions.issuer_session; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.issuer_session IS 'The session at the issuer that has signed the user in (sid); null if unknown.';


--
-- Name: COLUMN sessions.administrator_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.administrator_id IS 'The administrator who sees the account in a session of support; null for all other sessions, and for one of the operator.';


--
-- Name: COLUMN sessions.revocation_position; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.sessions.revocation_position IS 'The position of the end of the session in the feed of its app; null before.';


--
-- Name: live_sessions; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.live_sessions AS
 SELECT sessions.session_id AS id,
    sessions.device_id,
    sessions.provider,
    host(sessions.address) AS address,
    sessions.agent,
    sessions.created_at,
    sessions.refreshed_at,
    sessions.expires_at,
    sessions.user_id
   FROM public.sessions
  WHERE ((sessions.ended_at IS NULL) AND (sessions.expires_at > now()));


--
-- Name: VIEW live_sessions; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON VIEW public.live_sessions IS 'Sessions that have neither ended nor expired.';


--
-- Name: log_stream_progress; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.log_stream_progress (
    stream_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    holder text COLLATE pg_catalog."C",
    leased_until timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    not_before timestamp with time zone,
    last_success_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    last_error text,
    lost bigint DEFAULT 0 NOT NULL,
    unreported bigint DEFAULT 0 NOT NULL,
    lost_at timestamp with time zone
);


--
-- Name: TABLE log_stream_progress; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.log_stream_progress IS 'How far each log stream is in the feed of its app, and how its receiver answers.';


--
-- Name: COLUMN log_stream_progress."position"; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_stream_progress."position" IS 'The last position of the feed that the receiver has accepted.';


--
-- Name: COLUMN log_stream_progress.holder; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_stream_progress.holder IS 'The worker that sends the stream now; null without one.';


--
-- Name: COLUMN log_stream_progress.leased_until; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_stream_progress.leased_until IS 'When another worker may claim the stream, if its holder does nothing meanwhile.';


--
-- Name: COLUMN log_stream_progress.failures; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_stream_progress.failures IS 'The failures since the last success.';


--
-- Name: COLUMN log_stream_progress.failing_since; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_stream_progress.failing_since IS 'The first of these failures; null without one.';


--
-- Name: COLUMN log_stream_progress.not_before; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_stream_progress.not_before IS 'No attempt begins before this time; null for now.';


--
-- Name: COLUMN log_stream_progress.lost; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_stream_progress.lost IS 'The events that the feed has removed before they were sent.';


--
-- Name: COLUMN log_stream_progress.unreported; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_stream_progress.unreported IS 'Those of them that the receiver does not know of yet.';


--
-- Name: log_streams; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.log_streams (
    stream_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    header_value bytea,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT log_streams_attributes_check CHECK ((jsonb_typeof(attributes) = 'object'::text)),
    CONSTRAINT log_streams_stream_id_check CHECK ((stream_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE log_streams; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.log_streams IS 'Log systems to which workers send the events of an app.';


--
-- Name: COLUMN log_streams.header_value; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_streams.header_value IS 'The secret that authenticates Dossier, encrypted with the master key; null without one.';


--
-- Name: COLUMN log_streams.attributes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_streams.attributes IS 'What differs from the defaults, by the names that `dossier log-stream set` takes.';


--
-- Name: COLUMN log_streams.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.log_streams.version IS 'Grows by one with each change.';


--
-- Name: mail_deliveries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.mail_deliveries (
    user_id text NOT NULL COLLATE pg_catalog."C",
    mail_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    recipient text NOT NULL,
    recipient_hash bytea NOT NULL,
    attempts integer NOT NULL,
    accepted boolean NOT NULL,
    answer text,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT mail_deliveries_mail_id_check CHECK ((mail_id ~ '^[0-9a-f]{24}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.05');


--
-- Name: TABLE mail_deliveries; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.mail_deliveries IS 'Emails that the relay has accepted, or that expired before. Each row stays for seven days, without text and codes.';


--
-- Name: COLUMN mail_deliveries.user_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_deliveries.user_id IS 'The user; the id of the app if the email concerns no known user.';


--
-- Name: COLUMN mail_deliveries.recipient; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_deliveries.recipient IS 'The address, of which most characters are masked.';


--
-- Name: COLUMN mail_deliveries.recipient_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_deliveries.recipient_hash IS 'A keyed hash of the address.';


--
-- Name: COLUMN mail_deliveries.accepted; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_deliveries.accepted IS 'Whether the relay has accepted the email.';


--
-- Name: COLUMN mail_deliveries.answer; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_deliveries.answer IS 'The last answer of the relay, without addresses.';


--
-- Name: mail_outbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.mail_outbox (
    mail_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    user_id text COLLATE pg_catalog."C",
    token_hash bytea,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now(),
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    receiver text COLLATE pg_catalog."C",
    CONSTRAINT mail_outbox_kind_check CHECK ((kind = ANY (ARRAY['request'::text, 'verify'::text, 'reset'::text, 'restore'::text, 'change'::text, 'taken'::text, 'unknown'::text, 'code'::text, 'logout'::text, 'revocation'::text, 'operation'::text]))),
    CONSTRAINT mail_outbox_mail_id_check CHECK ((mail_id ~ '^[0-9a-f]{24}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');


--
-- Name: TABLE mail_outbox; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.mail_outbox IS 'The outbox: mail that the relay has not accepted yet, and other messages to deliver.';


--
-- Name: COLUMN mail_outbox.kind; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_outbox.kind IS 'The purpose of the mail. request: its recipient is not looked up yet. logout: a message to a client of OpenID Connect. revocation: a refresh token to revoke at a service.';


--
-- Name: COLUMN mail_outbox.sealed; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_outbox.sealed IS 'Sender, recipient and text, encrypted with the master key, as the mail may contain a token.';


--
-- Name: COLUMN mail_outbox.user_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_outbox.user_id IS 'The user whom the mail concerns; null if none is known. A mail with the hash of a token is not sent without that token in mail_tokens.';


--
-- Name: COLUMN mail_outbox.token_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_outbox.token_hash IS 'The hash of that token.';


--
-- Name: COLUMN mail_outbox.attempts; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_outbox.attempts IS 'How many times the relay was tried.';


--
-- Name: COLUMN mail_outbox.next_attempt_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_outbox.next_attempt_at IS 'When to try again. Null if delivery was given up; the row remains for the operator.';


--
-- Name: COLUMN mail_outbox.last_error; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_outbox.last_error IS 'The last answer of the relay.';


--
-- Name: COLUMN mail_outbox.receiver; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_outbox.receiver IS 'The client that gets the message; null for the relay, and for rows that become mails.';


--
-- Name: mail_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.mail_tokens (
    user_id text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL COLLATE pg_catalog."C",
    token_hash bytea NOT NULL,
    email text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    verifies boolean DEFAULT true NOT NULL,
    result_url text,
    CONSTRAINT mail_tokens_purpose_check CHECK ((purpose = ANY (ARRAY['verify'::text, 'reset'::text, 'restore'::text])))
);


--
-- Name: TABLE mail_tokens; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.mail_tokens IS 'Tokens in mailed links and in tickets. The newest three of a purpose are valid.';


--
-- Name: COLUMN mail_tokens.purpose; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_tokens.purpose IS 'verify: verifies the address. reset: sets a new password. restore: gives the former address back.';


--
-- Name: COLUMN mail_tokens.token_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_tokens.token_hash IS 'A keyed hash of the token.';


--
-- Name: COLUMN mail_tokens.email; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_tokens.email IS 'The address that received the mail, or that a ticket is for.';


--
-- Name: COLUMN mail_tokens.verifies; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_tokens.verifies IS 'Whether the use of the token verifies the address. False for a ticket that only sets a password.';


--
-- Name: COLUMN mail_tokens.result_url; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.mail_tokens.result_url IS 'Where the browser goes after the use of a ticket; null for a page of this server.';


--
-- Name: master_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.master_keys (
    check_value bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT master_keys_check_value_check CHECK ((octet_length(check_value) = 32))
);


--
-- Name: TABLE master_keys; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.master_keys IS 'The master keys that encrypt something in this database. A program without one of them refuses to start.';


--
-- Name: COLUMN master_keys.check_value; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.master_keys.check_value IS 'Derived from the key, which cannot be computed from it.';


--
-- Name: COLUMN master_keys.created_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.master_keys.created_at IS 'When the key first encrypted something.';


--
-- Name: merges; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.merges (
    user_id text NOT NULL COLLATE pg_catalog."C",
    merge_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    other_id text NOT NULL COLLATE pg_catalog."C",
    sealed bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT merges_merge_id_check CHECK ((merge_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE merges; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.merges IS 'Users that were merged into another one. A row is deleted when the merge is undone, and after seven days.';


--
-- Name: COLUMN merges.user_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.merges.user_id IS 'The user that stayed.';


--
-- Name: COLUMN merges.other_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.merges.other_id IS 'The user that was merged into it.';


--
-- Name: COLUMN merges.sealed; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.merges.sealed IS 'The export of the other user and what was moved, encrypted with the master key.';


--
-- Name: passkeys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.passkeys (
    user_id text NOT NULL COLLATE pg_catalog."C",
    passkey_id text NOT NULL COLLATE pg_catalog."C",
    credential bytea NOT NULL,
    public_key bytea NOT NULL,
    user_handle bytea NOT NULL,
    rp_id text NOT NULL COLLATE pg_catalog."C",
    sign_count bigint NOT NULL,
    backup_eligible boolean NOT NULL,
    backed_up boolean NOT NULL,
    transports text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    aaguid bytea NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT passkeys_aaguid_check CHECK ((length(aaguid) = 16)),
    CONSTRAINT passkeys_credential_check CHECK (((length(credential) >= 1) AND (length(credential) <= 1023))),
    CONSTRAINT passkeys_passkey_id_check CHECK ((passkey_id ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT passkeys_public_key_check CHECK (((length(public_key) >= 1) AND (length(public_key) <= 2048))),
    CONSTRAINT passkeys_sign_count_check CHECK (((sign_count >= 0) AND (sign_count <= '4294967295'::bigint))),
    CONSTRAINT passkeys_user_handle_check CHECK (((length(user_handle) >= 1) AND (length(user_handle) <= 64)))
);


--
-- Name: TABLE passkeys; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.passkeys IS 'Passkeys of users. Each has a row in identities with the provider passkey and the same id.';


--
-- Name: COLUMN passkeys.passkey_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.passkey_id IS 'The start of the hash of the credential id.';


--
-- Name: COLUMN passkeys.public_key; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.public_key IS 'The key in the format of COSE, with its bytes as they came.';


--
-- Name: COLUMN passkeys.user_handle; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.user_handle IS 'The user handle that the authenticator stores: the id of the user at the registration.';


--
-- Name: COLUMN passkeys.rp_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.rp_id IS 'The domain for which the authenticator made it.';


--
-- Name: COLUMN passkeys.sign_count; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.sign_count IS 'The counter of the last signature. It grows at passkeys of one device; others send 0.';


--
-- Name: COLUMN passkeys.backup_eligible; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.backup_eligible IS 'Whether it may be on several devices.';


--
-- Name: COLUMN passkeys.backed_up; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.backed_up IS 'Whether it was on several devices at the last sign-in.';


--
-- Name: COLUMN passkeys.transports; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.transports IS 'How clients reach the authenticator, with spaces between the words.';


--
-- Name: COLUMN passkeys.aaguid; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passkeys.aaguid IS 'The model of the authenticator; zeros if it states none.';


--
-- Name: passwords; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.passwords (
    user_id text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE passwords; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.passwords IS 'Hashes of passwords.';


--
-- Name: COLUMN passwords.hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.passwords.hash IS 'The hash with its algorithm and parameters, in the PHC string format.';


--
-- Name: pictures; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pictures (
    user_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    body bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
ALTER TABLE ONLY public.pictures ALTER COLUMN body SET STORAGE EXTERNAL;


--
-- Name: TABLE pictures; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.pictures IS 'Pictures of users, decoded and encoded again, so that they contain nothing else.';


--
-- Name: COLUMN pictures.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.pictures.name IS 'Its name in the URL. It has 128 random bits, so only those who got the URL know it.';


--
-- Name: COLUMN pictures.body; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.pictures.body IS 'The picture; null if it is a file of that name in the operator''s folder.';


--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    user_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    foreign_id text COLLATE pg_catalog."C",
    anonymous boolean NOT NULL,
    email text,
    email_verified boolean DEFAULT false NOT NULL,
    name text,
    given_name text,
    family_name text,
    nickname text,
    phone text,
    locale text,
    zone text,
    picture text,
    version bigint DEFAULT 1 NOT NULL,
    property_version_floor bigint DEFAULT 0 NOT NULL,
    blocked_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    last_login_at timestamp with time zone,
    login_count bigint DEFAULT 0 NOT NULL,
    picture_url text,
    CONSTRAINT users_foreign_id_check CHECK (((length(foreign_id) >= 3) AND (length(foreign_id) <= 255))),
    CONSTRAINT users_picture_url_check CHECK ((length(picture_url) <= 2048)),
    CONSTRAINT users_user_id_check CHECK ((user_id ~ '^[0-9a-f]{24}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02', fillfactor='90');


--
-- Name: TABLE users; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.users IS 'Users of all apps, with their profiles.';


--
-- Name: COLUMN users.foreign_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.foreign_id IS 'The id that Auth0''s clients see, if the user was imported with one; null for auth0| and user_id. identity_subjects finds it with the provider auth0.';


--
-- Name: COLUMN users.anonymous; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.anonymous IS 'Whether the user has no identity to sign in with again. Such a user is a guest.';


--
-- Name: COLUMN users.email; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.email IS 'The address as the user wrote it; email_key compares it.';


--
-- Name: COLUMN users.email_verified; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.email_verified IS 'Whether the user has verified the address.';


--
-- Name: COLUMN users.picture; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.picture IS 'The name of the current picture in the table pictures.';


--
-- Name: COLUMN users.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.version IS 'Grows by one with each change of the profile, the address or the block. A request of a back end with several changes counts once.';


--
-- Name: COLUMN users.property_version_floor; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.property_version_floor IS 'The largest version of a removed property. A property with the same key continues above it.';


--
-- Name: COLUMN users.blocked_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.blocked_at IS 'When an administrator blocked the user; null if nobody did.';


--
-- Name: COLUMN users.picture_url; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.users.picture_url IS 'A picture elsewhere, which a back end has set for Auth0''s clients. No program fetches it.';


--
-- Name: profiles; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.profiles AS
 SELECT u.user_id AS id,
    u.created_at,
    u.updated_at,
    u.version,
    u.anonymous,
    (u.blocked_at IS NOT NULL) AS blocked,
    u.email,
    u.email_verified,
    u.name,
    u.given_name,
    u.family_name,
    u.nickname,
    u.phone,
    u.locale,
    u.zone,
    u.picture,
    u.app_id
   FROM public.users u;


--
-- Name: VIEW profiles; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON VIEW public.profiles IS 'Profiles as the API shows them.';


--
-- Name: properties; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.properties (
    user_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT properties_key CHECK (((char_length(key) >= 1) AND (char_length(key) <= 128))),
    CONSTRAINT properties_value CHECK (
CASE jsonb_typeof((value)::jsonb)
    WHEN 'string'::text THEN (octet_length(((value)::jsonb #>> '{}'::text[])) <= 8192)
    ELSE (jsonb_typeof((value)::jsonb) = ANY (ARRAY['boolean'::text, 'number'::text]))
END)
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');


--
-- Name: TABLE properties; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.properties IS 'Properties of users. A writer locks the user, so a user never has more than 100.';


--
-- Name: COLUMN properties.value; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.properties.value IS 'A JSON string, boolean or number as the client wrote it.';


--
-- Name: COLUMN properties.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.properties.version IS 'Grows by one with each change; see users.property_version_floor.';


--
-- Name: rate_limits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.rate_limits (
    app_id text NOT NULL COLLATE pg_catalog."C",
    subject bytea NOT NULL,
    theoretical_arrival_at timestamp with time zone NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05');


--
-- Name: TABLE rate_limits; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.rate_limits IS 'Rate limits by the generic cell rate algorithm. A missing row is an unused limit.';


--
-- Name: COLUMN rate_limits.subject; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.rate_limits.subject IS 'A keyed hash of the attempted action and the caller.';


--
-- Name: COLUMN rate_limits.theoretical_arrival_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.rate_limits.theoretical_arrival_at IS 'The theoretical arrival time: each attempt adds its share of the limit''s period. An attempt is refused if this would exceed the present time by more than the period.';


--
-- Name: recovery_codes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.recovery_codes (
    user_id text NOT NULL COLLATE pg_catalog."C",
    code_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE recovery_codes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.recovery_codes IS 'Unused recovery codes. Each replaces the authenticator once.';


--
-- Name: COLUMN recovery_codes.code_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.recovery_codes.code_hash IS 'A keyed hash of the code.';


--
-- Name: resource_servers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.resource_servers (
    app_id text NOT NULL COLLATE pg_catalog."C",
    resource_server_id text NOT NULL COLLATE pg_catalog."C",
    identifier text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    scopes json DEFAULT '{}'::json NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT resource_servers_attributes_check CHECK ((jsonb_typeof(attributes) = 'object'::text)),
    CONSTRAINT resource_servers_identifier_check CHECK (((identifier ~ '^[!-~]+$'::text) AND (length(identifier) <= 600))),
    CONSTRAINT resource_servers_resource_server_id_check CHECK ((resource_server_id ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT resource_servers_scopes_check CHECK ((json_typeof(scopes) = 'object'::text))
);


--
-- Name: TABLE resource_servers; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.resource_servers IS 'APIs of an app that access tokens are for.';


--
-- Name: COLUMN resource_servers.identifier; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_servers.identifier IS 'The audience of its tokens, compared by bytes. Relative to the issuer are api/v2/, the Management API, and /, the API of /v1.';


--
-- Name: COLUMN resource_servers.scopes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_servers.scopes IS 'Its scopes, each with a description for users. jsonb would not keep their order.';


--
-- Name: COLUMN resource_servers.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_servers.version IS 'Grows by one with each change.';


--
-- Name: COLUMN resource_servers.attributes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.resource_servers.attributes IS 'What differs from the defaults, by the names that `dossier resource-server set` takes.';


--
-- Name: role_permissions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.role_permissions (
    app_id text NOT NULL COLLATE pg_catalog."C",
    role_id text NOT NULL COLLATE pg_catalog."C",
    resource_server_id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE role_permissions; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.role_permissions IS 'Scopes of APIs that the users of a role may get.';


--
-- Name: roles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.roles (
    app_id text NOT NULL COLLATE pg_catalog."C",
    role_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT roles_attributes_check CHECK ((jsonb_typeof(attributes) = 'object'::text)),
    CONSTRAINT roles_role_id_check CHECK ((role_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE roles; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.roles IS 'Roles of an app, which give their users permissions.';


--
-- Name: COLUMN roles.name; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.roles.name IS 'The name, compared by bytes.';


--
-- Name: COLUMN roles.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.roles.version IS 'Grows by one with each change of the name or the description.';


--
-- Name: COLUMN roles.attributes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.roles.attributes IS 'What differs from the defaults, by the names that `dossier role set` takes.';


--
-- Name: search_indexes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_indexes (
    app_id text NOT NULL COLLATE pg_catalog."C",
    index_id text NOT NULL COLLATE pg_catalog."C",
    document_kind text NOT NULL COLLATE pg_catalog."C",
    path text[] NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    state text DEFAULT 'building'::text NOT NULL COLLATE pg_catalog."C",
    visible_since timestamp with time zone,
    built_to text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    phase text DEFAULT 'fill'::text NOT NULL COLLATE pg_catalog."C",
    claimed_to text DEFAULT ''::text COLLATE pg_catalog."C",
    open_ranges text[] DEFAULT '{}'::text[] NOT NULL,
    finished_users bigint DEFAULT 0 NOT NULL,
    CONSTRAINT search_indexes_document_kind_check CHECK ((document_kind = ANY (ARRAY['metadata'::text, 'app_metadata'::text, 'custom_data'::text]))),
    CONSTRAINT search_indexes_index_id_check CHECK ((index_id ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT search_indexes_kind_check CHECK ((kind = ANY (ARRAY['text'::text, 'number'::text, 'boolean'::text]))),
    CONSTRAINT search_indexes_path_check CHECK ((cardinality(path) > 0)),
    CONSTRAINT search_indexes_phase_check CHECK ((phase = ANY (ARRAY['fill'::text, 'check'::text, 'clear'::text]))),
    CONSTRAINT search_indexes_state_check CHECK ((state = ANY (ARRAY['building'::text, 'ready'::text, 'removing'::text])))
);


--
-- Name: TABLE search_indexes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.search_indexes IS 'Paths of documents that an app can search by.';


--
-- Name: COLUMN search_indexes.path; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_indexes.path IS 'Names of members, from the root of the document.';


--
-- Name: COLUMN search_indexes.state; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_indexes.state IS 'Writers maintain an index in the states building and ready; searches use a ready one.';


--
-- Name: COLUMN search_indexes.visible_since; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_indexes.visible_since IS 'Transactions that begin later see the state; null until that is known. Older ones must have ended before work on the values begins.';


--
-- Name: COLUMN search_indexes.built_to; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_indexes.built_to IS 'The last user whose documents the version before has indexed. Programs no longer read it.';


--
-- Name: COLUMN search_indexes.phase; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_indexes.phase IS 'Of the present work. fill: adds values. check: corrects the values of documents that were written meanwhile. clear: deletes values.';


--
-- Name: COLUMN search_indexes.claimed_to; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_indexes.claimed_to IS 'The last user of the ranges that some process has begun in this phase; null when all are begun.';


--
-- Name: COLUMN search_indexes.open_ranges; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_indexes.open_ranges IS 'The ranges that are begun and not finished: the user before the first, the last user, and the number of users.';


--
-- Name: COLUMN search_indexes.finished_users; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_indexes.finished_users IS 'The users of the ranges that are finished in this phase.';


--
-- Name: search_index_records; Type: VIEW; Schema: public; Owner: -
--

CREATE VIEW public.search_index_records AS
 SELECT search_indexes.index_id AS id,
    search_indexes.document_kind,
    to_json(search_indexes.path) AS path,
    search_indexes.kind,
    search_indexes.state,
    search_indexes.created_at,
    search_indexes.app_id
   FROM public.search_indexes;


--
-- Name: VIEW search_index_records; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON VIEW public.search_index_records IS 'Search indexes as the API shows them.';


--
-- Name: search_values; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_values (
    user_id text NOT NULL COLLATE pg_catalog."C",
    index_id text NOT NULL COLLATE pg_catalog."C",
    text_value text COLLATE pg_catalog."C",
    number_value numeric,
    boolean_value boolean
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05');


--
-- Name: TABLE search_values; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.search_values IS 'The value of each user at each search index, unless it is null or missing. A value of another kind than the index''s, and a list inside the path, has a row without a value.';


--
-- Name: COLUMN search_values.text_value; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.search_values.text_value IS 'The first 256 characters. Filters have at most 255, so all comparisons are exact.';


--
-- Name: second_factors; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.second_factors (
    user_id text NOT NULL COLLATE pg_catalog."C",
    factor_id text NOT NULL COLLATE pg_catalog."C",
    secret bytea NOT NULL,
    confirmed_at timestamp with time zone,
    last_step bigint DEFAULT 0 NOT NULL,
    last_used_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT second_factors_factor_id_check CHECK ((factor_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE second_factors; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.second_factors IS 'Authenticator apps (TOTP, RFC 6238) of users.';


--
-- Name: COLUMN second_factors.secret; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.second_factors.secret IS 'The shared secret, encrypted with the master key.';


--
-- Name: COLUMN second_factors.confirmed_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.second_factors.confirmed_at IS 'Null until the user entered a first code.';


--
-- Name: COLUMN second_factors.last_step; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.second_factors.last_step IS 'The time step of the last accepted code, so that each code is accepted once.';


--
-- Name: signing_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.signing_keys (
    app_id text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    purpose text NOT NULL COLLATE pg_catalog."C",
    algorithm text NOT NULL COLLATE pg_catalog."C",
    public_key bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    retires_at timestamp with time zone
);


--
-- Name: TABLE signing_keys; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.signing_keys IS 'Keys that sign the tokens of an app.';


--
-- Name: COLUMN signing_keys.purpose; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.signing_keys.purpose IS 'The kind of token that the key signs.';


--
-- Name: COLUMN signing_keys.private_key; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.signing_keys.private_key IS 'The key, encrypted with the master key.';


--
-- Name: COLUMN signing_keys.retires_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.signing_keys.retires_at IS 'Null for the key that signs. A rotated key verifies tokens until this time.';


--
-- Name: support_codes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.support_codes (
    user_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    code_hash bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


--
-- Name: TABLE support_codes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.support_codes IS 'Codes that users tell support, which then sees their accounts. A user has at most one.';


--
-- Name: COLUMN support_codes.code_hash; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.support_codes.code_hash IS 'A keyed hash of the code.';


--
-- Name: unpublished_changes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.unpublished_changes (
    user_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    ordinal bigint NOT NULL,
    session_id text COLLATE pg_catalog."C",
    what text NOT NULL COLLATE pg_catalog."C",
    version bigint,
    device_id text COLLATE pg_catalog."C",
    detail jsonb
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');


--
-- Name: TABLE unpublished_changes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.unpublished_changes IS 'Changes that users made to their own data, and ends of sessions of users that are deleted, until the feed of the app has them.';


--
-- Name: COLUMN unpublished_changes.ordinal; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.unpublished_changes.ordinal IS 'As in the table audit.';


--
-- Name: COLUMN unpublished_changes.what; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.unpublished_changes.what IS 'The part of the data: metadata, properties, profile …; session_end for the end of a session.';


--
-- Name: COLUMN unpublished_changes.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.unpublished_changes.version IS 'The version of a document after the change.';


--
-- Name: COLUMN unpublished_changes.detail; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.unpublished_changes.detail IS 'The client and the reason of the end of a session.';


--
-- Name: user_origins; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.user_origins (
    user_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT user_origins_kind_check CHECK ((kind = ANY (ARRAY['anonymous'::text, 'registered'::text])))
);


--
-- Name: TABLE user_origins; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.user_origins IS 'How a user was created, if the identities of the user no longer show it.';


--
-- Name: COLUMN user_origins.kind; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.user_origins.kind IS 'anonymous: as a guest who linked an identity later. registered: by a registration without a session; until the first login, a client with the password may continue the account.';


--
-- Name: user_permissions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.user_permissions (
    user_id text NOT NULL COLLATE pg_catalog."C",
    resource_server_id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE user_permissions; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.user_permissions IS 'Scopes of APIs that users may get without a role.';


--
-- Name: user_roles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.user_roles (
    user_id text NOT NULL COLLATE pg_catalog."C",
    role_id text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: TABLE user_roles; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.user_roles IS 'Roles of users.';


--
-- Name: webhook_deliveries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhook_deliveries (
    webhook_id text NOT NULL COLLATE pg_catalog."C",
    delivery_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    user_id text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    data jsonb NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL COLLATE pg_catalog."C",
    attempts integer DEFAULT 0 NOT NULL,
    due_at timestamp with time zone NOT NULL,
    claimed_until timestamp with time zone,
    attempted_at timestamp with time zone,
    ended_at timestamp with time zone,
    status integer,
    duration_ms integer,
    error text,
    answer text,
    CONSTRAINT webhook_deliveries_delivery_id_check CHECK ((delivery_id ~ '^[0-9a-f]{24}$'::text)),
    CONSTRAINT webhook_deliveries_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.05');


--
-- Name: TABLE webhook_deliveries; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.webhook_deliveries IS 'Events for a webhook, each with the result of its last attempt.';


--
-- Name: COLUMN webhook_deliveries.delivery_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_deliveries.delivery_id IS 'The number of the delivery among those of the webhook, in hexadecimal.';


--
-- Name: COLUMN webhook_deliveries.user_id; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_deliveries.user_id IS 'The user of the event; empty without one.';


--
-- Name: COLUMN webhook_deliveries.due_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_deliveries.due_at IS 'When it may be sent; while an attempt is under way, when that attempt counts as lost.';


--
-- Name: COLUMN webhook_deliveries.claimed_until; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_deliveries.claimed_until IS 'When the attempt under way counts as lost; null without one.';


--
-- Name: COLUMN webhook_deliveries.answer; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_deliveries.answer IS 'The first 512 bytes of the last answer.';


--
-- Name: webhook_progress; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhook_progress (
    webhook_id text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    last_delivery bigint DEFAULT 0 NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    not_before timestamp with time zone,
    last_success_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    last_error text,
    notice_due_at timestamp with time zone,
    disabled_at timestamp with time zone
);


--
-- Name: TABLE webhook_progress; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.webhook_progress IS 'How far each webhook is in the feed of its app, and how its receiver answers.';


--
-- Name: COLUMN webhook_progress."position"; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_progress."position" IS 'The last position of the feed for which deliveries exist; whoever adds deliveries locks this row.';


--
-- Name: COLUMN webhook_progress.last_delivery; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_progress.last_delivery IS 'The number of the newest delivery.';


--
-- Name: COLUMN webhook_progress.failures; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_progress.failures IS 'The attempts that have failed since the last success.';


--
-- Name: COLUMN webhook_progress.failing_since; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_progress.failing_since IS 'The first of these failures; null without one.';


--
-- Name: COLUMN webhook_progress.not_before; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_progress.not_before IS 'No attempt begins before this time: the receiver has asked for a pause, or fails. Null for now.';


--
-- Name: COLUMN webhook_progress.notice_due_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_progress.notice_due_at IS 'When administrators get the next email about the failures; null for none. A worker changes it to send the email.';


--
-- Name: COLUMN webhook_progress.disabled_at; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhook_progress.disabled_at IS 'When a worker has disabled the webhook; null if none has, and after an operator has enabled it again.';


--
-- Name: webhooks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhooks (
    webhook_id text NOT NULL COLLATE pg_catalog."C",
    app_id text NOT NULL COLLATE pg_catalog."C",
    secret bytea NOT NULL,
    attributes jsonb DEFAULT '{}'::jsonb NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT webhooks_attributes_check CHECK ((jsonb_typeof(attributes) = 'object'::text)),
    CONSTRAINT webhooks_webhook_id_check CHECK ((webhook_id ~ '^[0-9a-f]{24}$'::text))
);


--
-- Name: TABLE webhooks; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON TABLE public.webhooks IS 'Receivers to which workers send the events of an app.';


--
-- Name: COLUMN webhooks.secret; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhooks.secret IS 'The keys that sign deliveries, as JSON that is encrypted with the master key.';


--
-- Name: COLUMN webhooks.attributes; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhooks.attributes IS 'What differs from the defaults, by the names that `dossier webhook set` takes.';


--
-- Name: COLUMN webhooks.version; Type: COMMENT; Schema: public; Owner: -
--

COMMENT ON COLUMN public.webhooks.version IS 'Grows by one with each change.';


--
-- Name: additional_subjects additional_subjects_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.additional_subjects
    ADD CONSTRAINT additional_subjects_pkey PRIMARY KEY (user_id, provider, subject);


--
-- Name: administrators administrators_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.administrators
    ADD CONSTRAINT administrators_pkey PRIMARY KEY (user_id);


--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (user_id, key_id);


--
-- Name: app_hosts app_hosts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.app_hosts
    ADD CONSTRAINT app_hosts_pkey PRIMARY KEY (host);


--
-- Name: apps apps_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_name_key UNIQUE (name);


--
-- Name: apps apps_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.apps
    ADD CONSTRAINT apps_pkey PRIMARY KEY (app_id);


--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (user_id, event_id);


--
-- Name: authentication_flows authentication_flows_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authentication_flows
    ADD CONSTRAINT authentication_flows_pkey PRIMARY KEY (place, flow_id);


--
-- Name: authorizations authorizations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_pkey PRIMARY KEY (app_id, authorization_id);


--
-- Name: client_grants client_grants_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.client_grants
    ADD CONSTRAINT client_grants_pkey PRIMARY KEY (app_id, client_id, resource_server_id);


--
-- Name: clients clients_app_id_client_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_app_id_client_id_key UNIQUE (app_id, client_id);


--
-- Name: clients clients_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (client_id);


--
-- Name: clients clients_secret_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_secret_hash_key UNIQUE (secret_hash);


--
-- Name: connections connections_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_pkey PRIMARY KEY (app_id, name);


--
-- Name: consents consents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consents
    ADD CONSTRAINT consents_pkey PRIMARY KEY (user_id, client_id, audience);


--
-- Name: count_progress count_progress_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.count_progress
    ADD CONSTRAINT count_progress_pkey PRIMARY KEY (app_id);


--
-- Name: daily_counts daily_counts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.daily_counts
    ADD CONSTRAINT daily_counts_pkey PRIMARY KEY (app_id, day, name);


--
-- Name: device_accounts device_accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.device_accounts
    ADD CONSTRAINT device_accounts_pkey PRIMARY KEY (user_id, device_id);


--
-- Name: devices devices_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (device_id);


--
-- Name: document_schemas document_schemas_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document_schemas
    ADD CONSTRAINT document_schemas_pkey PRIMARY KEY (app_id, kind);


--
-- Name: document_versions document_versions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document_versions
    ADD CONSTRAINT document_versions_pkey PRIMARY KEY (user_id, kind, version);


--
-- Name: documents documents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (user_id, kind);


--
-- Name: event_feeds event_feeds_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event_feeds
    ADD CONSTRAINT event_feeds_pkey PRIMARY KEY (feed_id);


--
-- Name: feed_events feed_events_feed_id_event_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feed_events
    ADD CONSTRAINT feed_events_feed_id_event_id_key UNIQUE (feed_id, event_id);


--
-- Name: feed_events feed_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feed_events
    ADD CONSTRAINT feed_events_pkey PRIMARY KEY (feed_id, "position");


--
-- Name: hosts hosts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hosts
    ADD CONSTRAINT hosts_pkey PRIMARY KEY (name);


--
-- Name: idempotency_keys idempotency_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (owner, app_id, key_hash);


--
-- Name: identities identities_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (user_id, identity_id);


--
-- Name: identity_subjects identity_subjects_taken; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identity_subjects
    ADD CONSTRAINT identity_subjects_taken PRIMARY KEY (app_id, provider, subject);


--
-- Name: identity_tokens identity_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identity_tokens
    ADD CONSTRAINT identity_tokens_pkey PRIMARY KEY (user_id, identity_id, client_id);


--
-- Name: imports imports_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (app_id, source);


--
-- Name: issuers issuers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_pkey PRIMARY KEY (app_id, name);


--
-- Name: job_parts job_parts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.job_parts
    ADD CONSTRAINT job_parts_pkey PRIMARY KEY (job_id, part);


--
-- Name: jobs jobs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (job_id);


--
-- Name: log_stream_progress log_stream_progress_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.log_stream_progress
    ADD CONSTRAINT log_stream_progress_pkey PRIMARY KEY (stream_id);


--
-- Name: log_streams log_streams_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.log_streams
    ADD CONSTRAINT log_streams_pkey PRIMARY KEY (stream_id);


--
-- Name: mail_deliveries mail_deliveries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_deliveries
    ADD CONSTRAINT mail_deliveries_pkey PRIMARY KEY (user_id, mail_id);


--
-- Name: mail_outbox mail_outbox_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_outbox
    ADD CONSTRAINT mail_outbox_pkey PRIMARY KEY (mail_id);


--
-- Name: mail_tokens mail_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_tokens
    ADD CONSTRAINT mail_tokens_pkey PRIMARY KEY (user_id, purpose, token_hash);


--
-- Name: master_keys master_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.master_keys
    ADD CONSTRAINT master_keys_pkey PRIMARY KEY (check_value);


--
-- Name: merges merges_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.merges
    ADD CONSTRAINT merges_pkey PRIMARY KEY (user_id, merge_id);


--
-- Name: passkeys passkeys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_pkey PRIMARY KEY (user_id, passkey_id);


--
-- Name: passwords passwords_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_pkey PRIMARY KEY (user_id);


--
-- Name: pictures pictures_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pictures
    ADD CONSTRAINT pictures_pkey PRIMARY KEY (user_id, name);


--
-- Name: properties properties_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.properties
    ADD CONSTRAINT properties_pkey PRIMARY KEY (user_id, key);


--
-- Name: rate_limits rate_limits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rate_limits
    ADD CONSTRAINT rate_limits_pkey PRIMARY KEY (app_id, subject);


--
-- Name: recovery_codes recovery_codes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash);


--
-- Name: resource_servers resource_servers_identifier; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_servers
    ADD CONSTRAINT resource_servers_identifier UNIQUE (app_id, identifier);


--
-- Name: resource_servers resource_servers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_servers
    ADD CONSTRAINT resource_servers_pkey PRIMARY KEY (app_id, resource_server_id);


--
-- Name: resource_servers resource_servers_resource_server_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_servers
    ADD CONSTRAINT resource_servers_resource_server_id_key UNIQUE (resource_server_id);


--
-- Name: role_permissions role_permissions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.role_permissions
    ADD CONSTRAINT role_permissions_pkey PRIMARY KEY (role_id, resource_server_id, scope);


--
-- Name: roles roles_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.roles
    ADD CONSTRAINT roles_name UNIQUE (app_id, name);


--
-- Name: roles roles_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.roles
    ADD CONSTRAINT roles_pkey PRIMARY KEY (app_id, role_id);


--
-- Name: roles roles_role_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.roles
    ADD CONSTRAINT roles_role_id_key UNIQUE (role_id);


--
-- Name: search_indexes search_indexes_path; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_indexes
    ADD CONSTRAINT search_indexes_path UNIQUE (app_id, document_kind, path);


--
-- Name: search_indexes search_indexes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_indexes
    ADD CONSTRAINT search_indexes_pkey PRIMARY KEY (app_id, index_id);


--
-- Name: search_values search_values_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_values
    ADD CONSTRAINT search_values_pkey PRIMARY KEY (user_id, index_id);


--
-- Name: second_factors second_factors_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_pkey PRIMARY KEY (user_id, factor_id);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (user_id, session_id);


--
-- Name: signing_keys signing_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (app_id, key_id);


--
-- Name: support_codes support_codes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.support_codes
    ADD CONSTRAINT support_codes_pkey PRIMARY KEY (user_id);


--
-- Name: unpublished_changes unpublished_changes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.unpublished_changes
    ADD CONSTRAINT unpublished_changes_pkey PRIMARY KEY (ordinal, user_id, event_id);


--
-- Name: user_origins user_origins_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_origins
    ADD CONSTRAINT user_origins_pkey PRIMARY KEY (user_id, kind);


--
-- Name: user_permissions user_permissions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_permissions
    ADD CONSTRAINT user_permissions_pkey PRIMARY KEY (user_id, resource_server_id, scope);


--
-- Name: user_roles user_roles_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_roles
    ADD CONSTRAINT user_roles_pkey PRIMARY KEY (user_id, role_id);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (user_id);


--
-- Name: webhook_deliveries webhook_deliveries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (webhook_id, delivery_id);


--
-- Name: webhook_progress webhook_progress_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook_progress
    ADD CONSTRAINT webhook_progress_pkey PRIMARY KEY (webhook_id);


--
-- Name: webhooks webhooks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (webhook_id);


--
-- Name: additional_subjects_reserved; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX additional_subjects_reserved ON public.additional_subjects USING btree (reserved_until) WHERE (reserved_until IS NOT NULL);


--
-- Name: app_hosts_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX app_hosts_by_app ON public.app_hosts USING btree (app_id);


--
-- Name: audit_by_action; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_action ON public.audit USING btree (app_id, action, event_id);


--
-- Name: audit_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_app ON public.audit USING btree (app_id, event_id);


--
-- Name: audit_by_other_actor; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_by_other_actor ON public.audit USING btree (app_id, actor, event_id) WHERE (actor <> 'user'::text);


--
-- Name: audit_own_changes; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_own_changes ON public.audit USING btree (app_id, event_id) WHERE ((action = 'data_change'::text) AND (actor = 'user'::text));


--
-- Name: audit_pending; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_pending ON public.audit USING btree (ordinal) WHERE pending;


--
-- Name: audit_refusals; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_refusals ON public.audit USING btree (user_id, event_id) WHERE (action = 'rate_limited'::text);


--
-- Name: authentication_flows_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authentication_flows_by_app ON public.authentication_flows USING btree (app_id);


--
-- Name: authentication_flows_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authentication_flows_by_time ON public.authentication_flows USING btree (expires_at);


--
-- Name: authorizations_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX authorizations_by_time ON public.authorizations USING btree (expires_at);


--
-- Name: client_grants_by_resource_server; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX client_grants_by_resource_server ON public.client_grants USING btree (app_id, resource_server_id);


--
-- Name: document_versions_by_kept; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX document_versions_by_kept ON public.document_versions USING btree (app_id, kept);


--
-- Name: feed_events_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX feed_events_by_time ON public.feed_events USING btree (feed_id, at);


--
-- Name: idempotency_keys_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idempotency_keys_by_time ON public.idempotency_keys USING btree (expires_at);


--
-- Name: identity_subjects_reserved; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX identity_subjects_reserved ON public.identity_subjects USING btree (reserved_until) WHERE (reserved_until IS NOT NULL);


--
-- Name: identity_tokens_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX identity_tokens_due ON public.identity_tokens USING btree (user_id) WHERE is_due;


--
-- Name: imports_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX imports_by_time ON public.imports USING btree (changed_at);


--
-- Name: issuers_missing_aud; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX issuers_missing_aud ON public.issuers USING btree (app_id, issuer) WHERE ((attributes -> 'allow_missing_aud'::text) = 'true'::jsonb);


--
-- Name: issuers_missing_iss; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX issuers_missing_iss ON public.issuers USING btree (app_id) WHERE ((attributes -> 'allow_missing_iss'::text) = 'true'::jsonb);


--
-- Name: job_parts_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX job_parts_by_time ON public.job_parts USING btree (created_at);


--
-- Name: jobs_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX jobs_by_app ON public.jobs USING btree (app_id, job_id);


--
-- Name: jobs_by_turn; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX jobs_by_turn ON public.jobs USING btree (claimed_until) WHERE (state = 'running'::text);


--
-- Name: jobs_running; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX jobs_running ON public.jobs USING btree (app_id) WHERE (state = 'running'::text);


--
-- Name: log_streams_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX log_streams_app ON public.log_streams USING btree (app_id);


--
-- Name: mail_deliveries_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_deliveries_by_app ON public.mail_deliveries USING btree (app_id, mail_id);


--
-- Name: mail_deliveries_by_end; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_deliveries_by_end ON public.mail_deliveries USING btree (ended_at);


--
-- Name: mail_deliveries_by_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_deliveries_by_id ON public.mail_deliveries USING btree (mail_id);


--
-- Name: mail_deliveries_by_recipient; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_deliveries_by_recipient ON public.mail_deliveries USING btree (user_id, recipient_hash);


--
-- Name: mail_outbox_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_outbox_by_app ON public.mail_outbox USING btree (app_id);


--
-- Name: mail_outbox_by_end; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_outbox_by_end ON public.mail_outbox USING btree (expires_at);


--
-- Name: mail_outbox_by_turn; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_outbox_by_turn ON public.mail_outbox USING btree (((receiver IS NOT NULL)), next_attempt_at) WHERE (next_attempt_at IS NOT NULL);


--
-- Name: mail_outbox_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_outbox_by_user ON public.mail_outbox USING btree (user_id) WHERE (user_id IS NOT NULL);


--
-- Name: mail_tokens_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX mail_tokens_by_time ON public.mail_tokens USING btree (expires_at);


--
-- Name: merges_by_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merges_by_id ON public.merges USING btree (merge_id);


--
-- Name: merges_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merges_by_time ON public.merges USING btree (expires_at);


--
-- Name: rate_limits_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX rate_limits_by_time ON public.rate_limits USING btree (theoretical_arrival_at);


--
-- Name: role_permissions_by_resource_server; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX role_permissions_by_resource_server ON public.role_permissions USING btree (app_id, resource_server_id, scope);


--
-- Name: search_values_boolean; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_values_boolean ON public.search_values USING btree (index_id, boolean_value, user_id) WHERE (boolean_value IS NOT NULL);


--
-- Name: search_values_number; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_values_number ON public.search_values USING btree (index_id, number_value, user_id) WHERE (number_value IS NOT NULL);


--
-- Name: search_values_other; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_values_other ON public.search_values USING btree (index_id, user_id) WHERE ((text_value IS NULL) AND (number_value IS NULL) AND (boolean_value IS NULL));


--
-- Name: search_values_text; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX search_values_text ON public.search_values USING btree (index_id, text_value, user_id) WHERE (text_value IS NOT NULL);


--
-- Name: sessions_by_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_by_id ON public.sessions USING btree (session_id);


--
-- Name: sessions_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_by_time ON public.sessions USING btree (LEAST(ended_at, expires_at));


--
-- Name: sessions_live; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_live ON public.sessions USING btree (user_id, session_id) WHERE (ended_at IS NULL);


--
-- Name: sessions_of_issuer_session; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_of_issuer_session ON public.sessions USING btree (issuer_session) WHERE ((issuer_session IS NOT NULL) AND (ended_at IS NULL));


--
-- Name: sessions_to_notify; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_to_notify ON public.sessions USING btree (ended_at) WHERE (notifies AND (ended_at IS NOT NULL));


--
-- Name: sessions_unpublished; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX sessions_unpublished ON public.sessions USING btree (app_id, ended_at) WHERE ((ended_at IS NOT NULL) AND (revocation_position IS NULL));


--
-- Name: signing_keys_current; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX signing_keys_current ON public.signing_keys USING btree (app_id, purpose) WHERE (retires_at IS NULL);


--
-- Name: support_codes_by_hash; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX support_codes_by_hash ON public.support_codes USING btree (code_hash);


--
-- Name: user_permissions_by_scope; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX user_permissions_by_scope ON public.user_permissions USING btree (resource_server_id, scope, user_id);


--
-- Name: user_roles_by_role; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX user_roles_by_role ON public.user_roles USING btree (role_id, user_id);


--
-- Name: users_anonymous; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_anonymous ON public.users USING btree (user_id) WHERE anonymous;


--
-- Name: users_blocked; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_blocked ON public.users USING btree (app_id, created_at, user_id) WHERE (blocked_at IS NOT NULL);


--
-- Name: users_by_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_app ON public.users USING btree (app_id, user_id);


--
-- Name: users_by_created_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_created_at ON public.users USING btree (app_id, created_at, user_id);


--
-- Name: users_by_email; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_email ON public.users USING btree (app_id, public.email_key(email) COLLATE "C", user_id) WHERE (email IS NOT NULL);


--
-- Name: users_by_email_domain; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_email_domain ON public.users USING btree (app_id, split_part(public.email_key(email), '@'::text, '-1'::integer) COLLATE "C", user_id) WHERE (email IS NOT NULL);


--
-- Name: users_by_family_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_family_name ON public.users USING btree (app_id, public.name_key(family_name) COLLATE "C", user_id) WHERE (family_name IS NOT NULL);


--
-- Name: users_by_given_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_given_name ON public.users USING btree (app_id, public.name_key(given_name) COLLATE "C", user_id) WHERE (given_name IS NOT NULL);


--
-- Name: users_by_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_name ON public.users USING btree (app_id, public.name_key(name) COLLATE "C", user_id) WHERE (name IS NOT NULL);


--
-- Name: users_by_name_words; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_name_words ON public.users USING gin (public.name_lexemes(app_id, name, given_name, family_name, nickname)) WITH (fastupdate=off) WHERE (COALESCE(name, given_name, family_name, nickname) IS NOT NULL);


--
-- Name: users_by_nickname; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_nickname ON public.users USING btree (app_id, public.name_key(nickname) COLLATE "C", user_id) WHERE (nickname IS NOT NULL);


--
-- Name: users_by_phone; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_by_phone ON public.users USING btree (app_id, phone COLLATE "C", user_id) WHERE (phone IS NOT NULL);


--
-- Name: users_unverified; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX users_unverified ON public.users USING btree (app_id, created_at, user_id) WHERE ((NOT email_verified) AND (NOT anonymous));


--
-- Name: webhook_deliveries_by_state; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_deliveries_by_state ON public.webhook_deliveries USING btree (webhook_id, state, delivery_id);


--
-- Name: webhook_deliveries_claimed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_deliveries_claimed ON public.webhook_deliveries USING btree (webhook_id, claimed_until) WHERE (claimed_until IS NOT NULL);


--
-- Name: webhook_deliveries_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook_id, due_at, delivery_id) WHERE (state = 'waiting'::text);


--
-- Name: webhook_deliveries_ended; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_deliveries_ended ON public.webhook_deliveries USING btree (webhook_id, state, ended_at) WHERE (ended_at IS NOT NULL);


--
-- Name: webhook_deliveries_of_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_deliveries_of_user ON public.webhook_deliveries USING btree (webhook_id, user_id, delivery_id) WHERE (state = 'waiting'::text);


--
-- Name: webhook_progress_notice_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_progress_notice_due ON public.webhook_progress USING btree (notice_due_at) WHERE (notice_due_at IS NOT NULL);


--
-- Name: webhooks_app; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhooks_app ON public.webhooks USING btree (app_id);


--
-- Name: search_values_common; Type: STATISTICS; Schema: public; Owner: -
--

CREATE STATISTICS public.search_values_common (mcv) ON index_id, text_value, boolean_value FROM public.search_values;


--
-- Name: additional_subjects additional_subjects_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.additional_subjects
    ADD CONSTRAINT additional_subjects_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: administrators administrators_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.administrators
    ADD CONSTRAINT administrators_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: api_keys api_keys_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: app_hosts app_hosts_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.app_hosts
    ADD CONSTRAINT app_hosts_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: authentication_flows authentication_flows_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authentication_flows
    ADD CONSTRAINT authentication_flows_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: authorizations authorizations_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.authorizations
    ADD CONSTRAINT authorizations_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: client_grants client_grants_app_id_client_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.client_grants
    ADD CONSTRAINT client_grants_app_id_client_id_fkey FOREIGN KEY (app_id, client_id) REFERENCES public.clients(app_id, client_id) ON DELETE CASCADE;


--
-- Name: client_grants client_grants_app_id_resource_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.client_grants
    ADD CONSTRAINT client_grants_app_id_resource_server_id_fkey FOREIGN KEY (app_id, resource_server_id) REFERENCES public.resource_servers(app_id, resource_server_id) ON DELETE CASCADE;


--
-- Name: clients clients_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: connections connections_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.connections
    ADD CONSTRAINT connections_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: consents consents_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.consents
    ADD CONSTRAINT consents_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: count_progress count_progress_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.count_progress
    ADD CONSTRAINT count_progress_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: daily_counts daily_counts_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.daily_counts
    ADD CONSTRAINT daily_counts_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: device_accounts device_accounts_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.device_accounts
    ADD CONSTRAINT device_accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: document_schemas document_schemas_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document_schemas
    ADD CONSTRAINT document_schemas_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: document_versions document_versions_user_id_kind_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document_versions
    ADD CONSTRAINT document_versions_user_id_kind_fkey FOREIGN KEY (user_id, kind) REFERENCES public.documents(user_id, kind) ON DELETE CASCADE;


--
-- Name: documents documents_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: identities identities_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: issuers issuers_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: log_streams log_streams_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.log_streams
    ADD CONSTRAINT log_streams_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: mail_deliveries mail_deliveries_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_deliveries
    ADD CONSTRAINT mail_deliveries_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: mail_outbox mail_outbox_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_outbox
    ADD CONSTRAINT mail_outbox_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: mail_tokens mail_tokens_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mail_tokens
    ADD CONSTRAINT mail_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: merges merges_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.merges
    ADD CONSTRAINT merges_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: passkeys passkeys_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT passkeys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: passwords passwords_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.passwords
    ADD CONSTRAINT passwords_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: pictures pictures_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pictures
    ADD CONSTRAINT pictures_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: properties properties_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.properties
    ADD CONSTRAINT properties_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: recovery_codes recovery_codes_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: resource_servers resource_servers_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.resource_servers
    ADD CONSTRAINT resource_servers_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: role_permissions role_permissions_app_id_resource_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.role_permissions
    ADD CONSTRAINT role_permissions_app_id_resource_server_id_fkey FOREIGN KEY (app_id, resource_server_id) REFERENCES public.resource_servers(app_id, resource_server_id) ON DELETE CASCADE;


--
-- Name: role_permissions role_permissions_app_id_role_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.role_permissions
    ADD CONSTRAINT role_permissions_app_id_role_id_fkey FOREIGN KEY (app_id, role_id) REFERENCES public.roles(app_id, role_id) ON DELETE CASCADE;


--
-- Name: roles roles_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.roles
    ADD CONSTRAINT roles_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: search_values search_values_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_values
    ADD CONSTRAINT search_values_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: second_factors second_factors_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: sessions sessions_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: signing_keys signing_keys_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- Name: support_codes support_codes_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.support_codes
    ADD CONSTRAINT support_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: user_origins user_origins_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_origins
    ADD CONSTRAINT user_origins_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: user_permissions user_permissions_resource_server_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_permissions
    ADD CONSTRAINT user_permissions_resource_server_id_fkey FOREIGN KEY (resource_server_id) REFERENCES public.resource_servers(resource_server_id) ON DELETE CASCADE;


--
-- Name: user_permissions user_permissions_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_permissions
    ADD CONSTRAINT user_permissions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: user_roles user_roles_role_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_roles
    ADD CONSTRAINT user_roles_role_id_fkey FOREIGN KEY (role_id) REFERENCES public.roles(role_id) ON DELETE CASCADE;


--
-- Name: user_roles user_roles_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_roles
    ADD CONSTRAINT user_roles_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(user_id) ON DELETE CASCADE;


--
-- Name: webhooks webhooks_app_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_app_id_fkey FOREIGN KEY (app_id) REFERENCES public.apps(app_id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--
