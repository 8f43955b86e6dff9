package import Runtime
package import EventLoop
package import Postgres

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

/// The name of the replaced picture, if any.
package struct ReplacedPicture: RowDecodable {
  package let name: String?
  package init(from row: Row) throws(DatabaseError) { name = row.text(ifAny: 0) }
}
