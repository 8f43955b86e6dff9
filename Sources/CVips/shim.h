#pragma once
#include <gmodule.h>
#include <malloc.h>
#include <stdint.h>
#include <vips/vips.h>
#include <vips/vector.h>

// Every operation of vips is variadic, which Swift cannot call.

// Reads the header only. With the default of `fail_on`, a truncated file would become half a
// picture.
static inline VipsImage *CVips_open(const void *bytes, size_t count) {
  return vips_image_new_from_buffer(bytes, count, "", "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                    VIPS_FAIL_ON_ERROR, NULL);
}

// Applies the orientation, and fits the picture into a square without enlarging. Colours are of the
// picture's own space, in bytes. With an export profile, vips would convert colours without an
// import profile by XYZ, from D65 to D50 without adaptation.
// The loader's options have `fail_on`, since the operation ignores its own for buffers (libvips
// issue 5195).
static inline int CVips_fit(void *bytes, size_t count, int side, VipsImage **fitted) {
  return vips_thumbnail_buffer(bytes, count, fitted, side, "height", side, "size", VIPS_SIZE_DOWN,
                               "option_string", "[fail_on=error]", NULL);
}

static inline int CVips_fit_image(VipsImage *image, VipsImage **fitted, int side) {
  return vips_thumbnail_image(image, fitted, side, "height", side, "size", VIPS_SIZE_DOWN, NULL);
}

// Loads a JPEG, and shrinks it by 1, 2, 4 or 8 while it is decoded.
static inline int CVips_load_jpeg(void *bytes, size_t count, int shrink, VipsImage **image) {
  return vips_jpegload_buffer(bytes, count, image, "shrink", shrink, "access",
                              VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, NULL);
}

// Some conversions lose the profile.
static inline void CVips_copy_profile(VipsImage *from, VipsImage *to) {
  const void *bytes;
  size_t count;
  if (vips_image_get_typeof(from, VIPS_META_ICC_NAME) &&
      !vips_image_get_blob(from, VIPS_META_ICC_NAME, &bytes, &count))
    vips_image_set_blob_copy(to, VIPS_META_ICC_NAME, bytes, count);
}

// Converts from a profile, by a name that vips knows or else the picture's own, to bytes of sRGB.
static inline int CVips_transform(VipsImage *image, VipsImage **converted, const char *profile,
                                  VipsIntent intent) {
  return vips_icc_transform(image, converted, "srgb", "embedded", !profile, "input_profile",
                            profile, "intent", intent, "black_point_compensation", TRUE, NULL);
}

static inline int CVips_to_srgb(VipsImage *image, VipsImage **converted) {
  return vips_colourspace(image, converted, VIPS_INTERPRETATION_sRGB, NULL);
}

static inline int CVips_to_bytes(VipsImage *image, VipsImage **converted) {
  return vips_cast(image, converted, VIPS_FORMAT_UCHAR, NULL);
}

static inline int CVips_bands(VipsImage *image, VipsImage **part, int first, int count) {
  return vips_extract_band(image, part, first, "n", count, NULL);
}

// Looks each value up in a table of bytes, which has a column for each band.
static inline int CVips_map(VipsImage *image, VipsImage **mapped, const uint8_t *table, int count,
                            int bands) {
  VipsImage *columns = vips_image_new_from_memory_copy(table, (size_t)count * (size_t)bands, count,
                                                       1, bands, VIPS_FORMAT_UCHAR);
  VipsImage *values = NULL;
  int code = columns && !vips_maplut(image, &values, columns, NULL)
                 ? vips_copy(values, mapped, "interpretation",
                             bands < 3 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB, NULL)
                 : -1;
  if (values) g_object_unref(values);
  if (columns) g_object_unref(columns);
  return code;
}

static inline int CVips_least(VipsImage *image, double *least) {
  return vips_min(image, least, NULL);
}

static inline int CVips_jpeg(VipsImage *image, void **bytes, size_t *count, int quality) {
  return vips_jpegsave_buffer(image, bytes, count, "Q", quality, "optimize_coding", TRUE, "strip",
                              TRUE, NULL);
}

static inline int CVips_png(VipsImage *image, void **bytes, size_t *count) {
  return vips_pngsave_buffer(image, bytes, count, "compression", 9, "strip", TRUE, NULL);
}

// `dladdr` requires _GNU_SOURCE, which modules cannot define.
struct CVips_place { const char *file; void *base; const char *symbol; void *address; };
int CVips_dladdr(const void *address, struct CVips_place *place) __asm__("dladdr");

// Returns the path of libvips.
static inline const char *CVips_library(void) {
  struct CVips_place place;
  return CVips_dladdr((const void *)vips_init, &place) ? place.file : NULL;
}

// Swift does not import macros with casts.
static inline void CVips_release(VipsImage *image) { g_object_unref(image); }
