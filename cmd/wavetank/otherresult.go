package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// otherResult is what came of a run of another build: what every version of a result has.
type otherResult struct {
	Version    int    `json:"version"`
	Build      string `json:"build"`
	Invariants []struct {
		Name   string           `json:"name"`
		Status scenarios.Status `json:"status"`
	} `json:"invariants"`
	Violations []struct {
		Invariant string `json:"invariant"`
		Promised  bool   `json:"promised"`
	} `json:"violations"`
	Verdict    scenarios.Verdict `json:"verdict"`
	Reason     string            `json:"reason"`
	OutOfSteps bool              `json:"out_of_steps"`
}

// resultIn reads what a program has left in the folder of a run, and ended with err.
func resultIn(dir string, err error) (*otherResult, error) {
	data, readErr := os.ReadFile(filepath.Join(dir, reports.ResultFile))
	switch {
	case errors.Is(readErr, fs.ErrNotExist) && err == nil:
		return nil, fmt.Errorf("it left no %s", reports.ResultFile)
	case readErr != nil && err == nil:
		return nil, fmt.Errorf("its %s cannot be read: %w", reports.ResultFile, strictyaml.FileReason(readErr))
	case readErr != nil:
		return nil, fmt.Errorf("it does not run the plan: %s", strings.TrimPrefix(err.Error(), "wavetank: "))
	}
	res := &otherResult{}
	if err := json.Unmarshal(data, res); err != nil {
		return nil, fmt.Errorf("its result cannot be read: %w", err)
	}
	if res.Version < 1 || res.Verdict == "" {
		return nil, fmt.Errorf("its %s is not a result of wavetank", reports.ResultFile)
	}
	return res, nil
}

// broken is the first invariant whose promise the run breaks, or that one if it does; "" if there is none. An invariant of "" is any.
func (r *otherResult) broken(invariant string) string {
	for _, v := range r.Violations {
		if v.Promised && (invariant == "" || v.Invariant == invariant) {
			return v.Invariant
		}
	}
	return ""
}

// undecided says why the run does not tell that nothing breaks; "" if it does.
func (r *otherResult) undecided() string {
	switch {
	case r.Verdict != scenarios.Inconclusive:
		return ""
	case r.OutOfSteps:
		return "the run used up its steps"
	}
	return "the run was inconclusive: " + firstOf(r.Reason, "its result does not say why")
}

// comesTo says what an invariant comes to in the run, or why that is not known.
func (r *otherResult) comesTo(invariant string) (s why.Standing, unknown string) {
	if r.broken(invariant) != "" {
		return why.Breaks, ""
	}
	for _, i := range r.Invariants {
		if i.Name != invariant {
			continue
		}
		switch {
		case i.Status == scenarios.StatusUnpromised:
			return why.Beyond, ""
		case r.undecided() != "":
			return "", r.undecided()
		case i.Status == scenarios.StatusNotExercised:
			return why.Idle, ""
		case i.Status == scenarios.StatusHeld:
			return why.Holds, ""
		}
		return "", fmt.Sprintf("its result calls it %q", i.Status) // not judged, or a situation
	}
	return "", "the build has no such invariant"
}
