"""Searches of users, as Auth0 documents them."""

import urllib.parse

from test_auth0 import START, Auth0Case

FORMS = """
forms = [
    # The examples of the documentation.
    ('email:"%s"' % mails[0], [0]), ('user_id:"%s"' % ids[1], [1]),
    ('user_id:("%s" OR "%s")' % (ids[0], ids[2]), [0, 2]),
    ('user_id:"%s" OR nickname:"nobody"' % ids[1], [1]),
    ('identities.user_id:"%s"' % ids[2].split("|")[1], [2]),
    ('family_name:"Found 1"', [1]), ('family_name:Found*', [0, 1, 2]),
    ('family_name:("Found 0" OR "Found 2")', [0, 2]), ('family_name:Found\\\\ 2', [2]),
    # Names and addresses in any case, the domain, and the start of a number
    ('family_name:"FOUND 1"', [1]), ('family_name:found*', [0, 1, 2]), ('nickname:FORM', [0, 1, 2]),
    ('email.domain:"FORM.example"', [0, 1]), ('email.domain:form*', [0, 1]),
    ('nickname:form AND phone_number:+4*', [0, 2]), ('phone_number:"+47900000"', []),
    # Groups of values
    ('family_name:("Found 0" AND "Found 1")', []), ('family_name:(found* AND NOT "Found 1")', [0, 2]),
    ('nickname:form AND app_metadata.level:("high" AND x)', [1]),
    ('nickname:form AND app_metadata.seats:([1 TO 1] OR 3)', [0, 2]),
    # Ranges
    ('nickname:form AND logins_count:[0 TO 10}', []),
    ('nickname:form AND _exists_:logins_count', []), ('logins_count:[1000 TO *]', []),
    ('nickname:form AND logins_count:{0 TO *]', []),
    ('nickname:form AND updated_at:[2026-01-01 TO *]', [0, 1, 2]),
    ('nickname:form AND last_login:[2020-01-01 TO *]', []),
    ('nickname:form AND app_metadata.seats:[2 TO *]', [1, 2]),
    # Nested metadata, and lists
    ('nickname:form AND user_metadata.address.city:"Oslo"', [0]),
    ('nickname:form AND user_metadata.tags:"b"', [0, 1]),
    ('nickname:form AND app_metadata.seats:2', [1]),
    ('nickname:form AND user_metadata.places.city:"Bergen"', [1]),
    ('app_metadata.teams.name:"red"', [0, 1]), ('app_metadata.teams.name:r*', [0, 1]),
    ('nickname:form AND app_metadata.scores:[5 TO 6]', [2]),
    ('nickname:form AND app_metadata.plan:pro', [0, 2]),
    ('app_metadata.level:"high"', [0, 1]),
    ('app_metadata.level:("low" OR "high")', [0, 1, 2]),
    # Without an index
    ('app_metadata.seats:[2 TO *]', [1, 2]), ('_exists_:user_metadata.tags', [0, 1]),
    ('_exists_:user_metadata.places AND blocked:false', [1]), ('blocked:true', []),
    ('user_metadata.places.city:"Bergen"', [1]), ('NOT nickname:form AND family_name:found*', []),
    ('email_verified:false AND nickname:form', [0, 2]), ('nickname:form OR blocked:true', [0, 1, 2]),
    # Parts of texts
    ('family_name:*ound\\ 1*', [1]), ('family_name:*D\\ 2', [2]), ('app_metadata.level:*ig*', [0, 1]),
    ('app_metadata.teams.name:*ed', [0, 1]), ('email:*@form.example', [0, 1]),
    ('"ound 1"', [1]), ('ound AND -app_metadata.plan:pro', [1]),
    # Existence, not and groups
    ('nickname:form AND _exists_:app_metadata.empty', []),
    ('nickname:form AND _exists_:app_metadata.teams', [0, 1]),
    ('_exists_:app_metadata.teams.name', [0, 1]),
    ('nickname:form AND NOT _exists_:app_metadata.empty', [0, 1, 2]),
    ('nickname:form AND _exists_:app_metadata.plan', [0, 2]),
    ('nickname:form AND NOT _exists_:app_metadata.plan', [1]),
    ('nickname:form AND NOT email_verified:true', [0, 2]),
    ('nickname:form AND -family_name:"Found 0"', [1, 2]),
    ('nickname:form AND (app_metadata.plan:pro OR email_verified:true)', [0, 1, 2]),
    ('nickname:form AND identities.connection:"Username-Password-Authentication"', [0, 1, 2]),
    ('nickname:form AND identities.provider:"github"', []),
]
"""
REFUSED = """
refused = ["user_metadata.tags:a*", "user_metadata.size:[1 TO 2]", "user_id:auth0*",
           'nickname:form AND user_id:"|108"', "email:a*a", "_exists_:user_id", "last_ip:1",
           "ada OR", "username:ada", "nickname:form nickname:form", "nickname:(form form)"]
"""

LISTS = """
ids, mails = site["ids"], site["mails"]
"""

VERSION_4 = START + LISTS + FORMS + REFUSED + """
from auth0.management import Users
from auth0.exceptions import Auth0Error
users = Users(domain, access, protocol="http")
for q, wanted in forms:
    found = users.list(q=q, search_engine="v3")
    assert sorted(user["user_id"] for user in found["users"]) == sorted(ids[n] for n in wanted), (
        q, found)
    assert found["total"] == len(wanted), found
for q in refused:
    try:
        users.list(q=q)
        raise AssertionError(q)
    except Auth0Error as error:
        assert (error.status_code, error.error_code) == (400, "invalid_query_string"), vars(error)
print("done")
"""

VERSION_6 = START + LISTS + FORMS + REFUSED + """
from auth0.management import Auth0
from auth0.management.errors import BadRequestError
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
for q, wanted in forms:
    found = client.users.list(q=q, search_engine="v3")
    assert sorted(user.user_id for user in found) == sorted(ids[n] for n in wanted), q
for q in refused:
    try:
        client.users.list(q=q)
        raise AssertionError(q)
    except BadRequestError as error:
        assert error.body["errorCode"] == "invalid_query_string", error.body
print("done")
"""


class Search(Auth0Case):
    def found(self, q, **parameters):
        query = urllib.parse.urlencode({"q": q, **parameters})
        answer = self.management("GET", f"users?{query}", token=self.back_end_token())
        return sorted(user["email"] for user in self.expect(answer, 200).json)

    def test_the_forms_of_a_search(self):
        token = self.back_end_token()
        mails = [f"{number}{self.own_email()}" for number in range(3)]
        for number, mail in enumerate(mails):
            self.expect(self.management("POST", "users", {
                "connection": "Username-Password-Authentication", "email": mail,
                "password": "correct horse battery", "family_name": f"Searched {number}",
                "nickname": "sought"}, token), 201)
        first, second, third = mails
        for q, expected in [
                (f'email:"{first}"', [first]),
                (f"email:{first} OR email:{second}", [first, second]),
                (f'email:("{first}" OR "{third}")', [first, third]),
                ("family_name:Searched*", mails),
                ('family_name:"Searched 1"', [second]),
                (r"family_name:Searched\ 2", [third]),
                ('nickname:sought AND NOT family_name:"Searched 0"', [second, third]),
                ('nickname:sought AND -family_name:"Searched 0"', [second, third]),
                ('nickname:sought AND (family_name:"Searched 0" OR email_verified:true)', [first]),
                ("nickname:sought AND created_at:[2020-01-01 TO *]", mails),
                ("nickname:sought AND created_at:[* TO 2020-01-01}", []),
                ("nickname:sought AND _exists_:family_name", mails)]:
            with self.subTest(q):
                self.assertEqual(self.found(q), expected)
        pages = [self.found("nickname:sought", page=page, per_page=2) for page in range(3)]
        self.assertEqual([len(page) for page in pages], [2, 1, 0])
        sort = {"q": "nickname:sought", "sort": "family_name:-1"}
        answer = self.management("GET", "users?" + urllib.parse.urlencode(sort), token=token)
        self.assertEqual([user["email"] for user in answer.json], [third, second, first])
        for number, mail in enumerate(mails):
            self.site.sql(f"""update users set login_count = {9 + number}, phone = '+4{9 - number}',
                last_login_at = now() - interval '{number} days' where email = '{mail}'""")
        for field, expected in [("logins_count", mails), ("last_login", mails[::-1]),
                                ("phone_number", mails[::-1]), ("user_id", mails),
                                ("created_at", mails)]:
            for way, order in [("1", expected), ("-1", expected[::-1])]:
                with self.subTest(field=field, way=way):
                    query = urllib.parse.urlencode({"q": "nickname:sought", "sort": f"{field}:{way}"})
                    answer = self.management("GET", f"users?{query}", token=token)
                    self.assertEqual([user["email"] for user in answer.json], order)

    def test_periods_and_operators_as_auth0_documents_them(self):
        times = ["2017-11-30 23:59:59.999", "2017-12-01 00:00:00", "2017-12-31 23:59:59.999999",
                 "2018-01-01 00:00:00", "2018-01-31 12:00:00", "2019-06-01 00:00:00"]
        self.site.sql("""
            insert into users (user_id, app_id, anonymous, nickname, last_login_at, login_count,
                email)
            select repeat('d', 23) || number, app_id, true, 'periodic', (times)[number]
                ::timestamptz, number, 'period' || number || '@form.example'
            from apps, generate_series(1, 6) number, (values (array[%s])) all_times (times)
            where name = 'default'""" % ", ".join(f"'{time}+00'" for time in times))
        for q, expected in [
                ("[2017-12 TO 2018-01]", "2345"), ("[2017 TO *]", "123456"),
                ("{2017-11 TO 2017-12]", "23"), ("[2017-12-01 TO 2017-12-31]", "23"),
                ("[2017-12 TO 2018-01}", "23"), ("[* TO 2017-12-31]", "123"),
                ("{2017 TO 2018]", "45"), ("[2018 TO 9999]", "456"), ("{2017 TO 2019}", "45"),
                ("2017-12", "23"), ("2018", "45"), ("2019-06-01", "6"),
                ("[2018-01-01T00:00:00 TO 2018-01-31T12:00:00Z}", "4"),
                ("(2019 || 2017-11)", "16"), ("(2017 && !2017-11)", "23")]:
            with self.subTest(q):
                mails = [f"period{number}@form.example" for number in expected]
                self.assertEqual(self.found(f"nickname:periodic && last_login:{q}"), mails)
                self.assertEqual(self.found(f"last_login:{q} AND !(NOT nickname:periodic)"), mails)

    def test_a_page_has_all_its_users_in_order(self):
        """The server reads the users of a page in batches of 25."""
        self.site.sql("""
            insert into users (user_id, app_id, anonymous, nickname)
            select repeat('c', 22) || lpad(to_hex(g), 2, '0'), app_id, true, 'batched'
            from apps, generate_series(1, 60) g where name = 'default';
            insert into documents (user_id, kind, body, version)
            select user_id, 'metadata', jsonb_build_object('id', user_id), 1
            from users where nickname = 'batched'""")
        answer = self.management("GET", "users?q=nickname:batched&per_page=60",
                                 token=self.back_end_token())
        ids = ["c" * 22 + f"{number:02x}" for number in range(1, 61)]
        self.assertEqual([(user["user_id"], user["user_metadata"]["id"])
                          for user in self.expect(answer, 200).json],
                         [(f"auth0|{user}", user) for user in ids])

    def test_invalid_searches(self):
        token = self.back_end_token()
        for query in ["q=email:", "q=:a", "q=email:a)", "q=nothing:a", "q=email:%22a", "q=email:a%5C",
                      "q=(" + "(" * 100, "q=email:a%00", "sort=name", "per_page=101", "page=-1",
                      "search_engine=v2", "q=email:a*a", "page=99999999999999999999"]:
            with self.subTest(query):
                answer = self.management("GET", f"users?{query}", token=token)
                self.assertEqual(answer.status, 400, answer.body)

    def test_each_form_by_both_sdks(self):
        token = self.back_end_token()
        for path in ["app_metadata.level", "app_metadata.teams.name"]:
            self.site.dossier("index", "create", "--app", "default", path, "kind=text")
        users = [
            {"user_metadata": {"address": {"city": "Oslo"}, "tags": ["a", "b"]},
             "app_metadata": {"plan": "pro", "level": "high", "seats": 1, "empty": {},
                              "teams": [{"name": "blue"}, {"name": "red"}]},
             "phone_number": "+4790000001"},
            {"user_metadata": {"tags": "b", "places": [{"city": "Oslo"}, {"city": "Bergen"}]},
             "email_verified": True,
             "app_metadata": {"level": ["high", "x"], "seats": 2, "scores": [1, 9], "empty": [],
                              "teams": {"name": "red"}}},
            {"app_metadata": {"plan": "pro", "level": "low", "seats": 3, "scores": [1, 5],
                              "empty": [{"no": None}], "teams": []},
             "phone_number": "+4690000002"}]
        mails = [f"form{number}{self.own_email()}" for number in range(3)]
        mails[:2] = [mail.replace("@example.com", "@Form.example") for mail in mails[:2]]
        ids = [self.expect(self.management("POST", "users", {
            "connection": "Username-Password-Authentication", "email": mails[number],
            "password": "correct horse battery", "family_name": f"Found {number}",
            "nickname": "form", **user}, token), 201).json["user_id"]
               for number, user in enumerate(users)]
        for version, program in [("4.13.0", VERSION_4), ("6.8.0", VERSION_6)]:
            self.run_program(version, program, ids=ids, mails=mails)
        self.site.sql("""
            insert into users (user_id, app_id, anonymous)
            select 'd' || lpad(to_hex(g), 23, '0'), app_id, true from apps, generate_series(1, 50001) g
            where name = 'default'""")
        query = urllib.parse.quote("blocked:true OR user_metadata.hobby:chess")
        answer = self.management("GET", f"users?q={query}", token=token)
        self.site.sql("delete from users where user_id like 'd%'")
        self.refused(answer, 400, "invalid_query_string")
        self.assertIn("user_metadata.hobby: dossier index create", answer.json["message"])
        for field in ["email", "email.domain,", "phone_number", "user_id", "app_metadata.level"]:
            self.assertIn(field, answer.json["message"])
