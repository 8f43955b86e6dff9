"""Makes pictures of known colours in many spaces, with the right values in sRGB beside each.

The values are calculated here, from the definitions of the spaces. No colour library takes part, so
the program under test and this must agree. Each FILE has a FILE.right: four colours, one a line.
"""
import math
import struct
import subprocess
import zlib

from PIL import Image

SIZE = (64, 48)
PLAIN = [(0, 0, 255), (255, 0, 0), (255, 255, 255), (188, 140, 120)]
# Inside of sRGB, also as values of the larger spaces.
MIXED = [(70, 90, 160), (180, 120, 90), (255, 255, 255), (128, 128, 128)]
LEVELS = [0, 64, 128, 255]
DARK = [(1, 2, 3), (40, 0, 5), (255, 255, 255), (100, 7, 0)]
# Below white in PQ and HLG, whose brighter light has no place in sRGB.
DIM = [(100, 104, 110), (118, 112, 106), (140, 140, 140), (60, 60, 60)]
D50 = (0.9642, 1.0, 0.8249)
D65 = (0.3127, 0.3290)
SRGB = [(0.64, 0.33), (0.30, 0.60), (0.15, 0.06)]
P3 = [(0.680, 0.320), (0.265, 0.690), (0.150, 0.060)]
ADOBE = [(0.64, 0.33), (0.21, 0.71), (0.15, 0.06)]
BT2020 = [(0.708, 0.292), (0.170, 0.797), (0.131, 0.046)]
NTSC = [(0.630, 0.340), (0.310, 0.595), (0.155, 0.070)]
ADOBE_GAMMA = 563 / 256
BRADFORD = [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]]


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def inverse(m):
    (a, b, c), (d, e, f), (g, h, i) = m
    scale = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return [[(e * i - f * h) / scale, (c * h - b * i) / scale, (b * f - c * e) / scale],
            [(f * g - d * i) / scale, (a * i - c * g) / scale, (c * d - a * f) / scale],
            [(d * h - e * g) / scale, (b * g - a * h) / scale, (a * e - b * d) / scale]]


def xyz(x, y):
    return [[x / y], [1], [(1 - x - y) / y]]


def matrix(primaries):
    """From linear RGB with white D65 to XYZ with white D50, adapted by Bradford."""
    columns = [list(column) for column in zip(*[[value for value, in xyz(*p)] for p in primaries])]
    shares = product(inverse(columns), xyz(*D65))
    cones = zip(product(BRADFORD, [[v] for v in D50]), product(BRADFORD, xyz(*D65)))
    scales = [to / from_ for (to,), (from_,) in cones]
    scaled = [[v * share for v, (share,) in zip(row, shares)] for row in columns]
    adapt = product(inverse(BRADFORD), product([[scales[i] * (i == j) for j in range(3)] for i in range(3)], BRADFORD))
    return product(adapt, scaled)


def linear(value):
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def encoded(value):
    value = min(max(value, 0), 1)
    return round(255 * (value * 12.92 if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))


def video(value):
    return value / 4.5 if value < 0.081 else ((value + 0.099) / 1.099) ** (1 / 0.45)


def quantized(value):
    """PQ, with white at 203 cd/m²."""
    root = value ** (4_096 / 2_523 / 128)
    share = max(root - 3_424 / 4_096, 0) / (2_413 / 128 - 2_392 / 128 * root)
    return share ** (16_384 / 2_610) * 10_000 / 203


def hybrid(value):
    """HLG on a display of 1,000 cd/m², with white at 203 cd/m²."""
    scene = value * value / 3 if value <= 0.5 else (math.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12
    return scene ** 1.2 * 1_000 / 203


def srgb(column):
    """From XYZ with white D50 to bytes of sRGB."""
    return tuple(encoded(value) for value, in product(inverse(matrix(SRGB)), column))


def converted(colours, primaries, curve):
    space = matrix(primaries)
    return [srgb(product(space, [[curve(value / 255)] for value in colour])) for colour in colours]


def grey(levels, curve=linear):
    return [(encoded(curve(level / 255)),) * 3 for level in levels]


# MARK: Profiles


def fixed(value):
    return struct.pack(">i", round(value * 65_536))


def profile(kind, space, pcs, tags, version=0x04200000):
    """An ICC profile."""
    head, data = struct.pack(">I", len(tags)), b""
    for name, content in tags.items():
        content += bytes(-len(content) % 4)
        head += name + struct.pack(">II", 132 + 12 * len(tags) + len(data), len(content))
        data += content
    body = head + data
    start = struct.pack(">I4sI4s4s4s", 128 + len(body), b"", version, kind, space, pcs)
    date = struct.pack(">6H", 2026, 1, 1, 0, 0, 0)
    start += date + b"acsp" + bytes(28) + b"".join(map(fixed, D50))
    return start + bytes(128 - len(start)) + body


def rgb_profile(primaries, curve):
    tags = {b"wtpt": WHITE}
    for name, column in zip((b"r", b"g", b"b"), zip(*matrix(primaries))):
        tags[name + b"XYZ"] = b"XYZ " + bytes(4) + b"".join(map(fixed, column))
        tags[name + b"TRC"] = curve
    return profile(b"mntr", b"RGB ", b"XYZ ", tags)


def gamma(value):
    return b"para" + bytes(8) + fixed(value)


WHITE = b"XYZ " + bytes(4) + b"".join(map(fixed, D50))
SRGB_CURVE = b"para" + bytes(4) + b"\0\3\0\0" + b"".join(map(fixed, (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)))


def lab_bytes(column):
    def f(value):
        return value ** (1 / 3) if value > 216 / 24_389 else (24_389 / 27 * value + 16) / 116
    x, y, z = (f(value / white) for (value,), white in zip(column, D50))
    return round((116 * y - 16) * 2.55), round(500 * (x - y) + 128), round(200 * (y - z) + 128)


def of_lab(lightness, a, b):
    y = (lightness / 2.55 + 16) / 116
    parts = (y + (a - 128) / 500, y, y - (b - 128) / 200)
    return [[white * (t ** 3 if t > 6 / 29 else 3 * (6 / 29) ** 2 * (t - 4 / 29))] for t, white in zip(parts, D50)]


def ink(colour):
    """The light that the imagined press leaves, in the bytes of its profile."""
    c, m, y, k = (value / 255 for value in colour)
    light = [[linear((1 - 0.9 * part) * (1 - k))] for part in (c, m, y)]
    return lab_bytes(product(matrix(SRGB), light))


def cmyk_profile(tag):
    """A profile with one table, from each corner of the cube of inks to Lab."""
    corners = [tuple(255 * (i >> shift & 1) for shift in (3, 2, 1, 0)) for i in range(16)]
    table = b"mft1" + bytes(4) + bytes((4, 3, 2, 0)) + b"".join(fixed(i in (0, 4, 8)) for i in range(9))
    table += bytes(range(256)) * 4 + b"".join(bytes(ink(corner)) for corner in corners) + bytes(range(256)) * 3
    return profile(b"prtr", b"CMYK", b"Lab ", {tag: table}, 0x02400000)


# MARK: Files


def painted(mode, colours, size=SIZE):
    """Four colours: two above two."""
    image = Image.new(mode, size)
    half = (size[0] // 2, size[1] // 2)
    for index, colour in enumerate(colours):
        x, y = index % 2 * half[0], index // 2 * half[1]
        image.paste(colour, (x, y, x + half[0], y + half[1]))
    return image


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def iccp(icc):
    return chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(icc))


def gama(value):
    return chunk(b"gAMA", struct.pack(">I", round(value * 100_000)))


def chrm(primaries):
    return chunk(b"cHRM", b"".join(struct.pack(">I", round(v * 100_000)) for point in [D65, *primaries] for v in point))


def cicp(*codes):
    return chunk(b"cICP", bytes(codes))


def png(path, depth, colours, before=b"", after=b""):
    """A PNG with chunks that Pillow does not write, or with 16 bits a channel."""
    def row(left, right):
        values = [v for c in (left, right) for _ in range(SIZE[0] // 2) for v in c]
        return b"\0" + b"".join(struct.pack(">H", 257 * v) if depth == 16 else bytes([v]) for v in values)

    rows = row(*colours[:2]) * (SIZE[1] // 2) + row(*colours[2:]) * (SIZE[1] // 2)
    header = struct.pack(">IIBBBBB", *SIZE, depth, {1: 0, 3: 2, 4: 6}[len(colours[0])], 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", zlib.compress(rows)) + after + chunk(b"IEND", b""))


def make(heif):
    names = []

    def right(name, colours):
        names.append(name)
        with open(f"{name}.right", "w") as file:
            file.writelines("%d,%d,%d\n" % colour for colour in colours)

    def save(name, image, colours, icc=None, kinds=("png", "jpg", "webp", "heic", "avif")):
        for kind in kinds:
            path = f"colour-{name}.{kind}"
            if kind in ("heic", "avif"):
                image.save(f"colour-{name}.{kind}.png", **({"icc_profile": icc} if icc else {}))
                options = ["-q", "100", "-p", "chroma=444"] + (["-A"] if kind == "avif" else [])
                subprocess.run([heif, *options, f"{path}.png", "-o", path], check=True, capture_output=True)
            else:
                options = {"jpg": {"quality": 100, "subsampling": 0}, "webp": {"lossless": True, "exact": True}}.get(kind, {})
                image.save(path, **options, **({"icc_profile": icc} if icc else {}))
            right(path, colours)

    standard = rgb_profile(SRGB, SRGB_CURVE)
    p3 = rgb_profile(P3, SRGB_CURVE)
    adobe = rgb_profile(ADOBE, gamma(ADOBE_GAMMA))
    light = profile(b"mntr", b"GRAY", b"XYZ ", {b"wtpt": WHITE, b"kTRC": gamma(1)})
    plain, mixed, levels = painted("RGB", PLAIN), painted("RGB", MIXED), painted("L", LEVELS)
    in_p3 = converted(MIXED, P3, linear)
    save("none", plain, PLAIN)
    save("none", plain.quantize(4, dither=Image.Dither.NONE), PLAIN, kinds=["gif"])
    save("palette", plain.quantize(4, dither=Image.Dither.NONE), PLAIN, kinds=["png"])
    save("srgb", plain, PLAIN, standard)
    save("p3", mixed, in_p3, p3)
    save("adobe", mixed, converted(MIXED, ADOBE, lambda value: value ** ADOBE_GAMMA), adobe)
    save("palette-p3", mixed.quantize(4, dither=Image.Dither.NONE), in_p3, p3, ["png"])
    save("large-p3", painted("RGB", MIXED, (3000, 1500)), in_p3, p3, ["jpg", "webp"])
    save("grey", levels, grey(LEVELS), kinds=["png", "jpg"])
    save("grey-light", levels, grey(LEVELS, lambda value: value), light, ["png", "jpg"])
    seen = painted("RGBA", [(*colour, 200) for colour in MIXED])
    save("alpha", seen, MIXED, kinds=["png", "webp"])
    save("alpha-p3", seen, in_p3, p3, ["png", "webp"])
    pale = painted("LA", [(level, 200) for level in LEVELS])
    save("alpha-grey", pale, grey(LEVELS), kinds=["png"])
    save("alpha-grey-light", pale, grey(LEVELS, lambda value: value), light, ["png"])
    for name, colours, expected, icc in [
        ("none", PLAIN, PLAIN, b""), ("p3", MIXED, in_p3, iccp(p3)), ("grey", [(v,) for v in LEVELS], grey(LEVELS), b""),
        ("grey-light", [(v,) for v in LEVELS], grey(LEVELS, lambda value: value), iccp(light)),
    ]:
        png(f"colour-deep-{name}.png", 16, colours, icc)
        right(f"colour-deep-{name}.png", expected)
    numbers(right, heif, p3)
    # Corners of the cube, which the table has exactly.
    inks = [(0, 0, 0, 0), (255, 0, 0, 0), (0, 255, 255, 0), (0, 0, 0, 255)]
    printed = [srgb(of_lab(*ink(colour))) for colour in inks]
    for tag in (b"A2B0", b"A2B1", b"A2B2"):
        save(f"cmyk-{tag.decode()}", painted("CMYK", inks), printed, cmyk_profile(tag), ["jpg"])
    save("large-cmyk", painted("CMYK", inks, (3000, 1500)), printed, cmyk_profile(b"A2B0"), ["jpg"])
    # Profiles that do not fit, or are broken, count for nothing.
    for name, icc in [("broken", b"no profile at all" * 20), ("cut", p3[:200]), ("lab", profile(b"spac", b"Lab ", b"Lab ", {}))]:
        save(f"rgb-{name}", plain, PLAIN, icc, ["jpg", "webp"])
        save(f"grey-{name}", levels, grey(LEVELS), icc, ["jpg"])
    save("grey-cut-grey", levels, grey(LEVELS), light[:170], ["jpg"])
    save("cmyk-none", painted("CMYK", [(0, 0, 0, 0)] * 4), [(255, 255, 255)] * 4, kinds=["jpg"])
    save("rgb-by-grey", plain, PLAIN, light, ["jpg", "webp"])
    save("rgb-by-cmyk", plain, PLAIN, cmyk_profile(b"A2B0"), ["jpg"])
    save("alpha-by-cmyk", seen, MIXED, cmyk_profile(b"A2B0"), ["webp"])
    save("grey-by-rgb", levels, grey(LEVELS), p3, ["jpg"])
    with open("colours", "w") as file:
        file.writelines(f"{name}\n" for name in names)


def numbers(right, heif, p3):
    """Files that describe their space by numbers: code points of H.273, or PNG's gamma and chromaticities."""
    for name, codes, primaries, curve, colours in [
        ("p3", (12, 13), P3, linear, MIXED), ("video", (1, 1), SRGB, video, MIXED), ("ntsc", (6, 6), NTSC, video, MIXED),
        ("bt2020", (9, 14), BT2020, video, MIXED), ("gamma", (1, 5), SRGB, lambda v: v ** 2.8, MIXED),
        ("light", (1, 8), SRGB, lambda v: v, MIXED), ("standard", (1, 13), SRGB, linear, PLAIN),
        ("unspecified", (2, 2), SRGB, linear, PLAIN), ("pq", (1, 16), SRGB, quantized, DIM), ("hlg", (1, 18), SRGB, hybrid, DIM),
    ]:
        expected = converted(colours, primaries, curve)
        for depth in (8, 16):
            png(f"colour-cicp-{name}-{depth}.png", depth, colours, cicp(*codes, 0, 1) + gama(0.5))
            right(f"colour-cicp-{name}-{depth}.png", expected)
        painted("RGB", colours).save("numbers.png", icc_profile=p3)
        for kind in ("heic", "avif"):
            path = f"colour-nclx-{name}.{kind}"
            options = ["-q", "100", "-p", "chroma=444"] + (["-A"] if kind == "avif" else [])
            subprocess.run([heif, *options, "numbers.png", "-o", path], check=True, capture_output=True)
            # The encoder writes no numbers of ours. They take the place of the profile.
            with open(path, "rb") as file:
                data = file.read()
            box = b"nclx" + struct.pack(">3HB", *codes, 6, 0x80)
            with open(path, "wb") as file:
                file.write(data.replace(b"prof" + p3, box.ljust(4 + len(p3), b"\0")))
            right(path, expected)
    in_p3 = converted(MIXED, P3, linear)
    bright = converted(MIXED, SRGB, lambda value: value ** 2)
    clear = [(*colour, 200) for colour in MIXED]
    for name, depth, colours, before, after, expected in [
        ("gama", 8, MIXED, gama(0.5), b"", bright), ("gama-deep", 16, MIXED, gama(0.5), b"", bright),
        ("gama-alpha", 8, clear, gama(0.5), b"", bright), ("gama-alpha-deep", 16, clear, gama(0.5), b"", bright),
        ("gama-dark", 16, DARK, gama(1), b"", converted(DARK, SRGB, lambda value: value)),
        ("gama-grey", 8, [(v,) for v in LEVELS], gama(1), b"", grey(LEVELS, lambda value: value)),
        ("gama-p3", 8, MIXED, gama(0.45455) + chrm(P3), b"", converted(MIXED, P3, lambda value: value ** (1 / 0.45455))),
        ("p3", 8, MIXED, chrm(P3), b"", in_p3),
        # The values for sRGB, alone or together.
        ("gama-srgb", 8, DARK, gama(0.45455), b"", DARK), ("chrm-srgb", 8, DARK, gama(0.45455) + chrm(SRGB), b"", DARK),
        # Precedence.
        ("cicp-iccp", 8, MIXED, iccp(rgb_profile(ADOBE, gamma(1))) + cicp(12, 13, 0, 1), b"", in_p3),
        ("iccp-gama", 8, MIXED, gama(1) + iccp(p3), b"", in_p3), ("srgb-gama", 8, DARK, gama(1) + chunk(b"sRGB", b"\0"), b"", DARK),
        ("first", 8, MIXED, gama(0.5) + gama(1), b"", bright),
        # Numbers that count for nothing.
        ("late", 8, DARK, b"", gama(1) + cicp(12, 8, 0, 1), DARK), ("zero", 8, DARK, gama(0), b"", DARK),
        ("huge", 8, DARK, chunk(b"gAMA", b"\xff" * 4), b"", DARK), ("short", 8, DARK, chunk(b"gAMA", b"\0"), b"", DARK),
        ("black", 8, DARK, chunk(b"cHRM", bytes(32)), b"", DARK), ("line", 8, DARK, chrm([(0.3, 0.3)] * 3), b"", DARK),
        ("reserved", 8, DARK, cicp(200, 99, 0, 1), b"", DARK), ("narrow", 8, DARK, cicp(12, 13, 0, 0), b"", DARK),
        ("matrix", 8, DARK, cicp(12, 13, 6, 1), b"", DARK),
    ]:
        png(f"colour-number-{name}.png", depth, colours, before, after)
        right(f"colour-number-{name}.png", expected)


def look(*paths):
    """Prints the colours of the quarters of each file."""
    for path in paths:
        with Image.open(path) as image:
            width, height = image.size
            plain = image.convert("RGBA").convert("RGB")
        places = [(x, y) for y in (height // 4, height * 3 // 4) for x in (width // 4, width * 3 // 4)]
        print(*(",".join(map(str, plain.getpixel(place))) for place in places))
