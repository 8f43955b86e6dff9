import JSON
import Operators

func json(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }
func value(_ text: String) throws -> BSON { try BSON(json(text)) }
func document(_ text: String) throws -> BSONDocument { try BSONDocument(json(text)) }
