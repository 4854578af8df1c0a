// Package strictyaml reads YAML files into structs and says precisely what is wrong with one: the file, the line and
// the column, the problem, and what to write instead.
//
// A [Kind] of file is read by [Kind.Read], or in steps by [Kind.Parse] and the methods of [Document]. Nothing is
// ignored: an unknown key, a key without a value, a number in quotes, an anchor and a second document are errors.
// Every error about a file is an [*Error].
//
// The tags of a struct's fields describe its keys. A field without a yaml tag is not read.
//
//	yaml:"name,options"  the key, and any of these options:
//	                     omitempty  the zero value means that the key was not given
//	                     required   the key must be given
//	                     nonempty   the text must not be empty
//	                     instant    a time, in Unix milliseconds or as RFC 3339 writes it
//	min:"1" max:"10"     the range of a number or a duration
//	oneof:"a,b"          the texts that are allowed
//	like:"job.gpu"       an example of a text
//	doc:"..."            what the key is for
//
// The fields may be texts, numbers, booleans, durations, structs, pointers and lists of these, mappings from numbers
// or from texts, [encoding/json.RawMessage] for any value, and [Node] for a value that is read later.
//
// Its files, each of which calls only those after it:
//
//	file.go      files
//	node.go      a value that is read later
//	kind.go      a kind of file, read as a whole
//	decode.go    a document into a struct
//	marshal.go   a struct as YAML
//	raw.go       any value, as JSON
//	document.go  a document, and where its errors are
//	sections.go  what a file can hold, to be listed
//	scalars.go   the scalars of a struct, by name
//	scalar.go    text into one scalar, and back
//	field.go     a field by its tags
//	error.go     an error, with its place
package strictyaml
