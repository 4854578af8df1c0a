package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
)

// policyBytesMax bounds a policy's file.
const policyBytesMax = 1 << 20

// Parse reads a policy's YAML strictly: all of it, or nothing. name stands for the file in errors.
func Parse(name string, data []byte) (Policy, error) {
	if len(data) > policyBytesMax {
		return Policy{}, fmt.Errorf("%s: this is longer than a policy can be; it has at most %d KiB", name, policyBytesMax>>10)
	}
	var p Policy
	d := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	err := d.Decode(&p)
	if errors.Is(err, io.EOF) {
		return Policy{}, fmt.Errorf("%s: this is empty; a policy has rules, or at least a default such as ALLOW", name)
	}
	if err == nil && !errors.Is(d.Decode(&Policy{}), io.EOF) {
		return Policy{}, fmt.Errorf("%s: a second document begins here; a file holds one policy", name)
	}
	var at yaml.Error
	switch {
	case errors.As(err, &at) && at.GetToken() != nil:
		pos := at.GetToken().Position
		return Policy{}, fmt.Errorf("%s:%d:%d: %s; the keys are default, rules and output", name, pos.Line, pos.Column, at.GetMessage())
	case err != nil:
		return Policy{}, fmt.Errorf("%s: %w", name, err)
	}
	var errs []error
	for _, w := range p.wrong() {
		errs = append(errs, fmt.Errorf("%s%s: %w", name, place(data, w.path), w.err))
	}
	if err := errors.Join(errs...); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// place is where a file has what is called path, or what that is part of, as :line:column; "" if nowhere.
func place(data []byte, path string) string {
	for ; path != ""; path = path[:max(0, strings.LastIndexByte(path, '.'))] {
		at, err := yaml.PathString("$." + path)
		if err != nil {
			return ""
		}
		if node, err := at.ReadNode(bytes.NewReader(data)); err == nil && node.GetToken() != nil {
			pos := node.GetToken().Position
			return fmt.Sprintf(":%d:%d", pos.Line, pos.Column)
		}
	}
	return ""
}
