"""Makes pictures of known colours in many spaces, with the right values in sRGB beside each.

The values are calculated here, from the definitions of the spaces. No colour library takes part, so
the program under test and this must agree. Each FILE has a FILE.right: four colours, one a line.
"""
import struct
import subprocess
import zlib

from PIL import Image

SIZE = (64, 48)
PLAIN = [(0, 0, 255), (255, 0, 0), (255, 255, 255), (188, 140, 120)]
# Inside of sRGB, also as values of the larger spaces.
MIXED = [(70, 90, 160), (180, 120, 90), (255, 255, 255), (128, 128, 128)]
LEVELS = [0, 64, 128, 255]
D50 = (0.9642, 1.0, 0.8249)
D65 = (0.3127, 0.3290)
SRGB = [(0.64, 0.33), (0.30, 0.60), (0.15, 0.06)]
P3 = [(0.680, 0.320), (0.265, 0.690), (0.150, 0.060)]
ADOBE = [(0.64, 0.33), (0.21, 0.71), (0.15, 0.06)]
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


def deep_png(path, colours, icc=b""):
    """A PNG with 16 bits a channel, which Pillow cannot write in RGB."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def row(left, right):
        return b"\0" + b"".join(struct.pack(">H", 257 * v) for c in (left, right) for _ in range(SIZE[0] // 2) for v in c)

    rows = row(*colours[:2]) * (SIZE[1] // 2) + row(*colours[2:]) * (SIZE[1] // 2)
    header = struct.pack(">IIBBBBB", *SIZE, 16, 2 if len(colours[0]) == 3 else 0, 0, 0, 0)
    middle = chunk(b"iCCP", b"ICC Profile\0\0" + zlib.compress(icc)) if icc else b""
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + middle + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


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
        ("none", PLAIN, PLAIN, b""), ("p3", MIXED, in_p3, p3), ("grey", [(v,) for v in LEVELS], grey(LEVELS), b""),
        ("grey-light", [(v,) for v in LEVELS], grey(LEVELS, lambda value: value), light),
    ]:
        deep_png(f"colour-deep-{name}.png", colours, icc)
        right(f"colour-deep-{name}.png", expected)
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


def look(*paths):
    """Prints the colours of the quarters of each file."""
    for path in paths:
        with Image.open(path) as image:
            width, height = image.size
            plain = image.convert("RGBA").convert("RGB")
        places = [(x, y) for y in (height // 4, height * 3 // 4) for x in (width // 4, width * 3 // 4)]
        print(*(",".join(map(str, plain.getpixel(place))) for place in places))
