package import EventLoop

/// The decoder and the storage of pictures.
@EventLoop package struct PictureService: Sendable {
  let decoder: PictureDecoder
  let shelf: PictureStorage

  package init(decoder: PictureDecoder, shelf: PictureStorage) {
    self.decoder = decoder
    self.shelf = shelf
  }
}
