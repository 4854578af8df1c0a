package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// onGitHub tells GitHub what a run of its Actions found, where there is one: annotations on
// standard error, and the job's summary.
func onGitHub(stderr io.Writer, annotate, summarize func(io.Writer) error) error {
	if os.Getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	if err := annotate(stderr); err != nil {
		return err
	}
	name := os.Getenv("GITHUB_STEP_SUMMARY")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fail(exitUsage, "$GITHUB_STEP_SUMMARY, %s, cannot be written: %v", name, strictyaml.FileReason(err))
	}
	if err := errors.Join(summarize(f), f.Close()); err != nil {
		return fail(exitUsage, "$GITHUB_STEP_SUMMARY, %s, cannot be written: %v", name, strictyaml.FileReason(err))
	}
	return nil
}

// writable refuses a file that could not be written in the end, before hours are spent on it.
func writable(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fail(exitUsage, "%s cannot be written: it is a folder", name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fail(exitUsage, "%s cannot be written: %v", name, strictyaml.FileReason(err))
	}
	probe, err := os.CreateTemp(filepath.Dir(name), ".wavetank-*.tmp")
	if err != nil {
		return fail(exitUsage, "%s cannot be written: %v", name, strictyaml.FileReason(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// writeFile writes the file called name under a temporary name, and renames it once it is whole.
func writeFile(name string, write func(io.Writer) error) (err error) {
	unwritable := func(err error) error {
		return fail(exitUsage, "%s cannot be written: %v", name, strictyaml.FileReason(err))
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return unwritable(err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*.tmp")
	if err != nil {
		return unwritable(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return unwritable(err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return unwritable(err)
	}
	return nil
}
