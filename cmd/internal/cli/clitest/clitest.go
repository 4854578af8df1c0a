// Package clitest has what the scripts that test the command lines share.
package clitest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// Setup hands on to a script's programs what is to be known of the race detector.
func Setup(env *testscript.Env) error {
	env.Setenv("GORACE", os.Getenv("GORACE"))
	if cache := os.Getenv("GOCACHE"); cache != "" {
		env.Setenv("GOCACHE", cache)
	} else if caches, err := os.UserCacheDir(); err == nil {
		env.Setenv("GOCACHE", filepath.Join(caches, "go-build")) // what a script builds is there already
	}
	return nil
}

// Exits is a command of scripts: exits CODE COMMAND... runs a command and checks its exit code.
func Exits(ts *testscript.TestScript, _ bool, args []string) {
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			ts.Fatalf("%v", err)
		}
		code = ee.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, not %s", code, args[0])
	}
}
