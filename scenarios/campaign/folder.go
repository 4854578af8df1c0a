package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// The files in a campaign's folder.
const (
	SpecFile    = "spec.json"
	JournalFile = "journal.jsonl" // what is finished so far, a line each
	LockFile    = "journal.lock"  // locked by the process that has the journal
	FindingsDir = "findings"      // the smallest plan of each finding
	ResultFile  = "result.json"   // exists once the campaign is over
	PageFile    = "report.html"   // the report, which is written last
)

// State says what a folder holds.
type State string

// The states of a folder.
const (
	None       State = "none"       // nothing, or a campaign that was not completely created
	Unfinished State = "unfinished" // a campaign that [Run] continues
	Finished   State = "finished"   // a campaign with its result
	Foreign    State = "foreign"    // something other than a campaign
)

// Look says what dir holds.
func Look(dir string) (State, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return None, nil
	case err != nil:
		if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
			return Foreign, nil
		}
		return "", fmt.Errorf("%s cannot be read: %w", dir, strictyaml.FileReason(err))
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	switch {
	case names[SpecFile] && names[ResultFile] && isCampaign(dir):
		return Finished, nil
	case names[SpecFile] && isCampaign(dir):
		return Unfinished, nil
	}
	if len(names) > 0 && !names[LockFile] { // a campaign is created with this file first
		return Foreign, nil
	}
	known := []string{JournalFile, LockFile, FindingsDir, ResultFile, PageFile, SpecFile + partial, ResultFile + partial}
	for name := range names {
		if !slices.Contains(known, name) {
			return Foreign, nil
		}
	}
	return None, nil
}

// isCampaign says whether dir has the spec.json of a campaign, of any version.
func isCampaign(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, SpecFile))
	var s map[string]any
	return err == nil && json.Unmarshal(data, &s) == nil && s["version"] != nil && s["seed"] != nil
}

// Create makes dir the folder of a new campaign, with spec.json and an empty journal. It replaces a finished
// campaign, but fails for an unfinished one, and for anything else.
func Create(dir string, spec Spec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	if err := giveWay(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return unwritable(dir, err)
	}
	j, err := lockJournal(dir)
	if err != nil {
		return err
	}
	defer j.close()
	if err := giveWay(dir); err != nil { // another process was faster
		return err
	}
	for _, name := range []string{SpecFile, ResultFile, FindingsDir, PageFile} { // without its spec, the folder is no campaign any more
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return unwritable(dir, err)
		}
	}
	if err := j.rewind(); err != nil {
		return unwritable(j.path, err)
	}
	return writeJSON(dir, SpecFile, spec)
}

// giveWay returns an error if dir cannot become the folder of a new campaign.
func giveWay(dir string) error {
	state, err := Look(dir)
	switch {
	case err != nil:
		return err
	case state == Unfinished:
		return fmt.Errorf("%s holds a campaign that was cut short; go on with it, remove it, or choose another folder", dir)
	case state == Foreign:
		return fmt.Errorf("%s holds something that is not part of a campaign; choose another folder", dir)
	}
	return nil
}

// Load reads the spec of the campaign in dir.
func Load(dir string) (Spec, error) {
	var spec Spec
	if err := readJSON(dir, SpecFile, SpecVersion, &spec); err != nil {
		return spec, err
	}
	if err := spec.Validate(); err != nil {
		return spec, fmt.Errorf("%s: %w", filepath.Join(dir, SpecFile), err)
	}
	return spec, nil
}

// LoadResult reads the result of the campaign in dir. It fails if the campaign is not over.
func LoadResult(dir string) (*Result, error) {
	res := &Result{}
	if err := readJSON(dir, ResultFile, ResultVersion, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Equal says whether both specs ask for the same runs.
func (s Spec) Equal(other Spec) bool { return s.hash() == other.hash() }

// readJSON reads a file of a campaign strictly, if it has that version.
func readJSON(dir, name string, version int, into any) error {
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if state, lookErr := Look(dir); lookErr == nil && state == Unfinished {
			return fmt.Errorf("the campaign in %s was cut short and has no %s yet; go on with it first", dir, name)
		}
		return fmt.Errorf("%s holds no campaign: there is no %s; give the folder of one", dir, name)
	} else if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, strictyaml.FileReason(err))
	}
	anew := "remove " + dir + " and begin the campaign anew"
	if name == ResultFile { // it can be computed from the journal
		anew = "remove it and go on with the campaign"
	}
	var of struct {
		Version int `json:"version"`
	}
	err = json.Unmarshal(data, &of)
	if err == nil && of.Version != version {
		return fmt.Errorf("%s is of version %d, and this build reads version %d; use the build that wrote it, or %s", path, of.Version, version, anew)
	}
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		err = dec.Decode(into)
	}
	if err != nil {
		return fmt.Errorf("%s is broken: %s; %s", path, jsonReason(err), anew)
	}
	return nil
}
