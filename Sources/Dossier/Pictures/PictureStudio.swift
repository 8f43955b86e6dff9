package import EventLoop

/// The decoder and the storage of pictures.
@EventLoop package struct PictureStudio: Sendable {
  let decoder: PictureDecoder
  let shelf: PictureShelf

  package init(decoder: PictureDecoder, shelf: PictureShelf) {
    self.decoder = decoder
    self.shelf = shelf
  }
}
