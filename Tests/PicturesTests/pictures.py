"""Makes the files that PicturesTests uploads, and describes the files that the program returns.

pictures.py make FOLDER [HEIF-ENCODER]   pictures.py look FILE   pictures.py colours FILE...

Uses another library than the program under test (Pillow), so that both must agree.
"""
import os
import struct
import subprocess
import sys
import zlib

from PIL import Image, ImageCms, PngImagePlugin

import colours

SECRET = "SECRET-OF-THE-OWNER"
COLOURS = {"red": (230, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 230), "white": (250, 250, 250)}


def quarters(width, height, mode="RGB"):
    """Red and green above blue and white, so that each rotation and reflection looks different."""
    image = Image.new("RGB", (width, height))
    half = (width // 2, height // 2)
    for index, colour in enumerate(COLOURS.values()):
        x, y = index % 2, index // 2
        image.paste(colour, (x * half[0], y * half[1], width if x else half[0], height if y else half[1]))
    return image.convert(mode)


def exif(orientation=None):
    data = Image.Exif()
    if orientation:
        data[0x0112] = orientation
    data[0x010E] = SECRET
    data.get_ifd(0x8825)[1] = "N"
    data.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
    return data


# The inverse of what a reader does to show the picture upright.
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_270,
}


def png(path, width, height, depth, colour, bytes_a_pixel, interlaced, *more):
    """A valid PNG of zeros of any size, with more chunks: pairs of a kind and data."""
    chunk = colours.chunk
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    packer, data = zlib.compressobj(1), b""
    for left, top, across, down in passes if interlaced else [(0, 0, 1, 1)]:
        columns = (width - left + across - 1) // across
        row = bytes(1 + int(columns * bytes_a_pixel + 0.999))
        for _ in range((height - top + down - 1) // down):
            data += packer.compress(row)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        for kind, content in more:
            file.write(chunk(kind, content))
        file.write(chunk(b"IDAT", data + packer.flush()) + chunk(b"IEND", b""))


def scans(path):
    """A progressive JPEG of 49 megapixels that repeats one short scan up to nearly 10 MiB."""
    Image.new("L", (7000, 7000), 90).save(path, progressive=True, quality=50)
    with open(path, "rb") as file:
        data = file.read()
    starts = []
    at = data.index(b"\xff\xda")
    while at >= 0:
        starts.append(at)
        at = data.find(b"\xff\xda", at + 2)
    scan = data[starts[-1]:-2]
    count = (10 * 1024 * 1024 - len(data)) // len(scan)
    with open(path, "wb") as file:
        file.write(data[:-2] + scan * count + b"\xff\xd9")


def make(folder, heif):
    os.chdir(folder)
    picture = quarters(64, 48)
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", SECRET)
    text.add_itxt("XML:com.adobe.xmp", f"<x:xmpmeta>{SECRET}</x:xmpmeta>")
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    marker = f"<x:xmpmeta>{SECRET}</x:xmpmeta>".encode()
    picture.save("small.jpg", quality=92, subsampling=0)
    picture.save("small.png")
    picture.save("small.webp", quality=92)
    picture.save("lossless.webp", lossless=True)
    picture.save("progressive.jpg", progressive=True, quality=92, subsampling=0)
    picture.convert("L").save("grey.jpg")
    picture.convert("CMYK").save("cmyk.jpg", quality=95)
    picture.convert("P").save("palette.png")
    picture.convert("L").convert("I").point(lambda level: level * 256).save("sixteen.png")
    quarters(3000, 1500).save("large.jpg")
    quarters(500, 2000).save("tall.png")
    quarters(1024, 1024).save("exact.jpg")
    quarters(1, 1).save("one.png")
    quarters(5000, 2).save("thin.png")
    seen = picture.convert("RGBA")
    seen.putalpha(Image.linear_gradient("L").resize((64, 48)))
    seen.save("alpha.png")
    seen.save("alpha.webp", lossless=True)
    picture.convert("RGBA").save("opaque.png")
    jpeg_exif = exif(1).tobytes()
    picture.save("private.jpg", exif=jpeg_exif, icc_profile=profile, comment=SECRET.encode())
    with open("private.jpg", "rb") as file:
        data = file.read()
    packet = b"http://ns.adobe.com/xap/1.0/\0" + marker
    with open("private.jpg", "wb") as file:
        file.write(data[:2] + b"\xff\xe1" + struct.pack(">H", len(packet) + 2) + packet + data[2:])
    picture.save("private.png", exif=exif(1), icc_profile=profile, pnginfo=text)
    seen.save("private-alpha.png", exif=exif(1), icc_profile=profile, pnginfo=text)
    picture.save("private.webp", exif=jpeg_exif, icc_profile=profile, xmp=marker)
    for number in range(1, 9):
        turned = picture.transpose(TURNS[number]) if number in TURNS else picture
        for kind in ("jpg", "png", "webp"):
            options = {"jpg": {"quality": 92, "subsampling": 0}, "webp": {"lossless": True}}.get(kind, {})
            turned.save(f"turned-{number}.{kind}", exif=exif(number).tobytes(), **options)
    # A gamma of 16 bits takes a way of its own.
    turned = picture.transpose(TURNS[6]).tobytes()
    rows = b"".join(b"\0" + b"".join(bytes([value, value]) for value in turned[at:at + 144]) for at in range(0, len(turned), 144))
    with open("turned-deep.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + b"".join([
            colours.chunk(b"IHDR", struct.pack(">IIBBBBB", 48, 64, 16, 2, 0, 0, 0)), colours.gama(0.5),
            colours.chunk(b"eXIf", exif(6).tobytes()[6:]), colours.chunk(b"IDAT", zlib.compress(rows)), colours.chunk(b"IEND", b"")]))
    frames = [quarters(64, 48), Image.new("RGB", (64, 48), (0, 0, 0))]
    frames[0].save("animated.webp", save_all=True, append_images=frames[1:], lossless=True)
    frames[0].save("animated.png", save_all=True, append_images=frames[1:])
    picture.save("small.gif")
    frames[0].save("animated.gif", save_all=True, append_images=frames[1:])
    picture.save("wrong.bmp")
    picture.save("wrong.tiff")
    picture.save("wrong.pdf")
    png("bomb.png", 30_000, 30_000, 1, 0, 1 / 8, 0)
    png("interlaced.png", 7_000, 7_000, 16, 6, 8, 1)
    png("slow.png", 7_000, 7_000, 16, 6, 8, 0)
    png("column.png", 1, 4_900_000, 8, 0, 1, 0)
    text = b"Comment\0\0" + zlib.compress(bytes(50_000_000))
    png("texts.png", 8, 8, 8, 0, 1, 0, *[(b"zTXt", text)] * (10_000_000 // (len(text) + 12)))
    scans("scans.jpg")
    subprocess.run([heif, "-q", "90", "small.png", "-o", "small.heic"], check=True, capture_output=True)
    subprocess.run([heif, "-q", "90", "private.jpg", "-o", "private.heic"], check=True, capture_output=True)
    subprocess.run([heif, "-q", "90", "alpha.png", "-o", "alpha.heic"], check=True, capture_output=True)
    subprocess.run([heif, "-A", "small.png", "-o", "small.avif"], check=True, capture_output=True)
    subprocess.run([heif, "-A", "private.jpg", "-o", "private.avif"], check=True, capture_output=True)
    subprocess.run([heif, "-A", "-q", "90", "alpha.png", "-o", "alpha.avif"], check=True, capture_output=True)
    colours.make(heif)


def nearest(pixel):
    distance = {name: sum(abs(a - b) for a, b in zip(pixel, value)) for name, value in COLOURS.items()}
    name = min(distance, key=distance.get)
    return name if distance[name] < 90 else str(tuple(pixel))


def look(path):
    """Kind, mode, size, the colours of the quarters, alpha's range, names of metadata."""
    image = Image.open(path)
    image.load()
    width, height = image.size
    plain = image.convert("RGB")
    places = [(x, y) for y in (height // 4, height * 3 // 4) for x in (width // 4, width * 3 // 4)]
    seen = ",".join(nearest(plain.getpixel(place)) for place in places)
    alpha = image.getchannel("A").getextrema() if image.mode == "RGBA" else ""
    known = {"jfif", "jfif_version", "jfif_unit", "jfif_density", "dpi"}
    metadata = sorted(set(image.info) - known) + (["exif"] if len(image.getexif()) else [])
    print(image.format, image.mode, f"{width}x{height}", seen, alpha, *metadata, sep="|")


if __name__ == "__main__":
    {"make": make, "look": look, "colours": colours.look}[sys.argv[1]](*sys.argv[2:])
