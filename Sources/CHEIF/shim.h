#pragma once
#include <libheif/heif.h>
#include <stddef.h>
#include <stdint.h>

// Reads the code points of the primary image's colours, which libvips ignores.
// Returns 0 if there are some.
static inline int CHEIF_code_points(const void *bytes, size_t count, int *primaries,
                                    int *transfer) {
  int code = -1;
  struct heif_image_handle *image = NULL;
  struct heif_color_profile_nclx *found = NULL;
  struct heif_context *context = heif_context_alloc();
  if (context &&
      !heif_context_read_from_memory_without_copy(context, bytes, count, NULL).code &&
      !heif_context_get_primary_image_handle(context, &image).code &&
      !heif_image_handle_get_nclx_color_profile(image, &found).code && found) {
    *primaries = (int)found->color_primaries;
    *transfer = (int)found->transfer_characteristics;
    code = 0;
  }
  if (found) heif_nclx_color_profile_free(found);
  if (image) heif_image_handle_release(image);
  if (context) heif_context_free(context);
  return code;
}
