package import Runtime
package import EventLoop

/// The decoder and the storage of pictures.
@EventLoop package final class PictureService: DomainService {
  package let decoder: PictureDecoder
  package let shelf: PictureStorage

  package init(decoder: PictureDecoder, shelf: PictureStorage) {
    self.decoder = decoder
    self.shelf = shelf
  }
}

extension RequestContext {
  package var pictures: PictureService { dependencies[PictureService.self] }
}
