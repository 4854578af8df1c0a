package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// writeJSON writes a file of the campaign in its canonical form. If content is nil, the file is empty.
func writeJSON(dir, name string, content any) error {
	var buf bytes.Buffer
	if content != nil {
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(content); err != nil {
			return err
		}
	}
	return writeFile(dir, name, buf.Bytes())
}

// partial is the suffix of a file's name until the file is complete.
const partial = ".partial"

// writeFile writes the file dir/name atomically.
func writeFile(dir, name string, data []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	err := os.WriteFile(path+partial, data, 0o644)
	if err == nil {
		err = os.Rename(path+partial, path)
	}
	if err != nil {
		_ = os.Remove(path + partial)
		return unwritable(path, err)
	}
	return nil
}

func unwritable(path string, err error) error {
	remedy := "choose another folder"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		remedy = "make room and try again: what was finished is kept"
	}
	return fmt.Errorf("%s cannot be written: %w; %s", path, strictyaml.FileReason(err), remedy)
}

// jsonReason is the message of encoding/json without its prefix.
func jsonReason(err error) string { return strings.TrimPrefix(err.Error(), "json: ") }
