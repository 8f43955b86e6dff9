import JSON
import JSONSchema

func json(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }

func schema(_ text: String) throws -> JSONSchema { try JSONSchema(json(text)) }
