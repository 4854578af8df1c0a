package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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
	if err := p.Validate(); err != nil {
		return Policy{}, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}
