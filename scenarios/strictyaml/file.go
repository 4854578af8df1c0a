package strictyaml

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// fileBytesMax bounds a file. The longest plan that a generator writes is a small part of it.
const fileBytesMax = 1 << 20

// FromStandardInput says whether an argument names standard input, which can be read once.
func FromStandardInput(arg string) bool { return arg == "-" || arg == "/dev/stdin" }

// ReadFile returns what a file holds, or a pipe that the shell gives as one. It reads no more than a [Kind] accepts.
// give says in errors what to give instead; they are of type [*Error].
func ReadFile(path, give string) ([]byte, error) {
	refuse := func(message string) ([]byte, error) {
		return nil, &Error{File: path, Message: message, Remedy: "give " + give}
	}
	info, err := os.Stat(path) // before it is opened: to open a named pipe is to wait for its writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("there is no such file")
	case err != nil:
		return nil, unreadable(path, err)
	case info.IsDir():
		return refuse("this is a directory")
	case !info.Mode().IsRegular() && path != "/dev/stdin" && !strings.HasPrefix(path, "/dev/fd/"):
		return refuse("this is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	return ReadAll(path, f)
}

// ReadAll returns what r holds. It reads no more than a [Kind] accepts. name stands for r in errors, which are of
// type [*Error].
func ReadAll(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, fileBytesMax+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	return data, nil
}

func unreadable(path string, err error) error {
	remedy := "give a file that can be read"
	if errors.Is(err, fs.ErrPermission) {
		remedy = "check its permissions"
	}
	return &Error{File: path, Message: "cannot be read: " + FileReason(err).Error(), Remedy: remedy}
}

// FileReason is the reason of an error about a file, such as "permission denied", without the names of the call and
// of the file: a message names the file once, where a reader looks for it.
func FileReason(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}
