package import EventLoop

/// What a worker needs for pictures.
@EventLoop package struct PictureStudio: Sendable {
  let decoder: PictureDecoder
  let shelf: PictureShelf

  package init(decoder: PictureDecoder, shelf: PictureShelf) {
    self.decoder = decoder
    self.shelf = shelf
  }
}
