package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A setting that judging needs must be there, and of its kind.
func TestConfigureRefuses(t *testing.T) {
	_, err := Configure(struct{}{})
	require.EqualError(t, err, "judging needs the setting dispatch_order, and there is none")
	_, err = Configure(struct {
		Order int `yaml:"dispatch_order"`
	}{})
	require.EqualError(t, err, "judging needs the setting dispatch_order as string, and it is int")
}
