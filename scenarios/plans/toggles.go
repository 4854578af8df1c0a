package plans

import (
	"cmp"
	"fmt"
)

// Toggle is a part of the engine that can be switched off. With it, the scenario holds under the preset
// hardened. Without it, the scenario violates the invariant there. The invariant is judged whatever its
// promise, since some promises go with the part.
type Toggle struct {
	Setting    string `json:"setting"`    // its setting, such as engine.fence
	On         string `json:"on"`         // the hardened preset's value
	Off        string `json:"off"`        // the value without it
	Documented string `json:"documented"` // the documented preset's value
	Scenario   string `json:"scenario"`
	Invariant  string `json:"invariant"`
	Says       string `json:"says"`    // the effect of switching it off, whatever strikes; a clause, from which [Toggle.Without] makes a sentence
	Command    string `json:"command"` // the shell command that shows the violation
}

// Without describes the engine without the part, in a sentence.
func (t Toggle) Without() string {
	if t.Off == "false" {
		return "Without " + t.Setting + ", " + t.Says + "."
	}
	return "With " + t.Setting + "=" + t.Off + ", " + t.Says + "."
}

// Toggles lists the toggles, in the order of the engine's settings.
func Toggles() (list []Toggle) {
	for _, s := range Settings() {
		k, ok := knobOf(s.Name)
		if !ok || k.off == "" {
			continue
		}
		t := Toggle{Setting: k.Name, On: cmp.Or(s.Hardened, s.Default), Off: k.off, Documented: s.Default, Scenario: k.scenario, Invariant: k.breaks, Says: k.says}
		if t.On == t.Off { // plans themselves switch the part on
			t.On = "true"
		}
		t.Command = fmt.Sprintf("wavetank run %s --preset %s --set %s=%s --judge %s", t.Scenario, PresetHardened, t.Setting, t.Off, t.Invariant)
		list = append(list, t)
	}
	return list
}
