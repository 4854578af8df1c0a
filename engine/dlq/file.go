package dlq

import (
	"errors"
	"io/fs"
	"os"
)

// LoadPolicy reads a policy's file, as [ParsePolicy] does. What is wrong with it is a *PolicyError.
func LoadPolicy(path string) (*Policy, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &PolicyError{File: path, Message: "there is no such file", Remedy: "give the file of a triage policy"}
	case err != nil:
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, &PolicyError{File: path, Message: "cannot be read: " + err.Error(), Remedy: "give the file of a triage policy"}
	}
	return ParsePolicy(path, data)
}
