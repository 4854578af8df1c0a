package strictyaml

import (
	"bytes"
	"fmt"
	"strings"
)

// Kind is a kind of document.
type Kind struct {
	What    string // it is, such as "a plan"
	Has     string // what it needs at least, such as "a name"
	Version int    // of its format, which the key version may say; 0 is a kind without one
}

// Read reads a file's text into the struct that into points to. check says what the tags of its fields cannot say.
// name stands for the file in errors.
func (k Kind) Read(name string, data []byte, into any, check func() *Error) error {
	d, err := k.Parse(name, data)
	if err != nil {
		return err
	}
	if err := d.Decode(into); err != nil {
		return err
	}
	if e := check(); e != nil {
		return d.Locate(e)
	}
	return nil
}

// Parse reads the one document of a file's text, and checks its version. name stands for the file in errors.
func (k Kind) Parse(name string, data []byte) (*Document, error) {
	d := newDocument(k, name, strings.Split(string(data), "\n"))
	if err := d.parse(bytes.TrimPrefix(data, []byte("\ufeff"))); err != nil {
		return nil, err
	}
	if err := d.checkVersion(); err != nil {
		return nil, err
	}
	return d, nil
}

// CheckVersion says whether this build reads that version of the kind's format. The path of the error is version.
func (k Kind) CheckVersion(version int) *Error {
	if version == k.Version {
		return nil
	}
	return &Error{Path: "version", Message: fmt.Sprintf("the %s's format is version %d", strings.TrimPrefix(k.What, "a "), version), Remedy: fmt.Sprintf("this build reads version %d: use the build that wrote it", k.Version)}
}

// checkVersion comes before the other keys are read, since their meaning hangs on it.
func (d *Document) checkVersion() error {
	if d.kind.Version == 0 || !d.HasKey("version") {
		return nil
	}
	given := struct {
		Version int `yaml:"version"`
	}{}
	if err := d.DecodeKey("version", &given); err != nil {
		return err
	}
	if e := d.kind.CheckVersion(given.Version); e != nil {
		return d.Locate(e)
	}
	return nil
}
