package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/workflow"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// loadRun reads a run's file, "-" being standard input, strictly: all of it, or nothing.
func loadRun(path string, stdin io.Reader) (workflow.Run, error) {
	const give = "the file of a run, or - to read standard input"
	switch {
	case path == "":
		return workflow.Run{}, cli.Fail(cli.ExitUsage, "FILE is empty; give %s", give)
	case strictyaml.FromStandardInput(path):
		data, err := strictyaml.ReadAll("standard input", stdin)
		if err != nil {
			return workflow.Run{}, err
		}
		return parseRun("standard input", data)
	}
	data, err := strictyaml.ReadFile(path, give)
	if err != nil {
		return workflow.Run{}, err
	}
	return parseRun(path, data)
}

// parseRun reads a run's YAML or JSON. name stands for the file in errors.
func parseRun(name string, data []byte) (run workflow.Run, err error) {
	if json.Valid(data) { // where a tab may stand, which YAML does not indent by
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	kind := strictyaml.Kind{What: "a run", Has: "run_id, workflow_id and steps"}
	err = kind.Read(name, data, &run, func() *strictyaml.Error {
		var fe *workflow.FieldError
		if errors.As(run.Validate(), &fe) {
			return &strictyaml.Error{Path: fe.Path, Message: fe.Error()}
		}
		return nil
	})
	if err != nil {
		return workflow.Run{}, err
	}
	return run, nil
}
