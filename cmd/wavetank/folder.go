package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/sim"
)

// runsDir is where run folders go that have no name from the user.
const runsDir = "runs"

// folder is a run's folder. It is filled under a temporary name beside its own, and takes its own
// once it is complete.
type folder struct {
	path   string
	temp   string
	latest bool         // runs/latest points to it
	lock   *flock.Flock // of temp, as long as the process lives
	once   sync.Once
}

// newFolder prepares the folder out, or runs/name if out is empty. It refuses what it must not
// replace, before the run.
func newFolder(out, name string) (*folder, error) {
	f := &folder{path: out}
	if out == "" {
		f.path, f.latest = filepath.Join(runsDir, name), true
	} else if to, err := os.Readlink(filepath.Clean(out)); err == nil { // such as runs/latest
		return nil, cli.Fail(cli.ExitUsage, "%s is a link to %s, which a run would replace; name a folder with --out", out, to)
	}
	if cli.SameFolder(f.path, ".") {
		return nil, cli.Fail(cli.ExitUsage, "%s is the current folder, which a run cannot replace; choose another with --out", f.path)
	}
	if err := replaceable(f.path); err != nil {
		return nil, err
	}
	parent := filepath.Dir(f.path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, unwritable(f.path, err)
	}
	if busy := removeLeftovers(parent, filepath.Base(f.path)); busy && !f.latest { // a name that is made up is of the same run
		return nil, cli.Fail(cli.ExitUsage, "another process writes its run into %s; wait for it, or choose another folder with --out", f.path)
	}
	var err error
	if f.temp, err = os.MkdirTemp(parent, "."+filepath.Base(f.path)+"-*.partial"); err != nil {
		return nil, unwritable(f.path, err)
	}
	f.lock = folderLock(f.temp)
	_, _ = f.lock.TryLock() // a file system without locks does without
	if err := os.Chmod(f.temp, 0o755); err != nil {
		f.discard()
		return nil, unwritable(f.path, err)
	}
	return f, nil
}

func folderLock(dir string) *flock.Flock { return flock.New(dir, flock.SetFlag(os.O_RDONLY)) }

// removeLeftovers removes what runs into the folder name have left beside it that were killed. It says whether one goes on.
func removeLeftovers(parent, name string) (busy bool) {
	left, _ := filepath.Glob(filepath.Join(parent, ".*.partial"))
	for _, dir := range left {
		number, ours := strings.CutPrefix(filepath.Base(dir), "."+name+"-")
		if !ours || strings.Contains(number, "-") {
			continue
		}
		lock := folderLock(dir)
		free, err := lock.TryLock()
		if free && err == nil {
			_ = os.RemoveAll(dir)
		}
		busy = busy || !free && err == nil
		_ = lock.Close()
	}
	return busy
}

// owned refuses a folder that the command may not write into: one that holds what is no part of what it leaves, or, if it is
// not empty, nothing that only the command itself leaves, so that it is not ours. A folder that does not exist counts as empty.
func owned(dir, what string, ours bool, part func(fs.DirEntry) bool) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return unwritable(dir, err)
	case !info.IsDir():
		return cli.Fail(cli.ExitUsage, "%s is not a folder; choose another with --out", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%s cannot be read: %v; choose another folder with --out", dir, strictyaml.FileReason(err))
	}
	for _, e := range entries {
		if !part(e) {
			return cli.Fail(cli.ExitUsage, "%s holds %s, which is not part of %s; choose another folder with --out", dir, e.Name(), what)
		}
	}
	if len(entries) > 0 && !ours {
		return cli.Fail(cli.ExitUsage, "%s holds %s, which may not be part of %s; move it away, or choose another folder with --out", dir, entries[0].Name(), what)
	}
	return nil
}

// named is what has one of those names.
func named(names ...string) func(fs.DirEntry) bool {
	return func(e fs.DirEntry) bool { return slices.Contains(names, e.Name()) }
}

// replaceable says whether path can become a run's folder: it may be that of an earlier run, which may have its JUnit file.
func replaceable(path string) error {
	scenario, ofRun := scenarioOf(path)
	return owned(path, "a run", ofRun, func(e fs.DirEntry) bool {
		return e.Type().IsRegular() && (slices.Contains(reports.RunFiles, e.Name()) || isJUnit(filepath.Join(path, e.Name()), scenario))
	})
}

// scenarioOf is what the run was of that dir holds, by whatever version, and whether it holds one: its result says so, or, where
// that is gone or broken, its trace.
func scenarioOf(dir string) (scenario string, ofRun bool) {
	var res struct{ Scenario, Digest string }
	data, err := os.ReadFile(filepath.Join(dir, reports.ResultFile))
	if err == nil && json.Unmarshal(data, &res) == nil && res.Digest != "" {
		return res.Scenario, true
	}
	trace, err := os.Open(filepath.Join(dir, reports.TraceFile))
	if err != nil {
		return "", false
	}
	defer trace.Close() // read only: nothing to lose
	line, err := bufio.NewReader(trace).ReadBytes('\n')
	var first sim.Event
	if err != nil || json.Unmarshal(line, &first) != nil || first.Step == 0 {
		return "", false
	}
	if p, err := plans.Load(filepath.Join(dir, reports.PlanFile)); err == nil {
		scenario = p.Name
	}
	return scenario, true
}

// isJUnit says whether the file is what --junit wrote for a run of the scenario.
func isJUnit(name, scenario string) bool {
	data, err := os.ReadFile(name)
	return err == nil && scenario != "" && bytes.Contains(data, []byte(`<testsuite name="wavetank.`+scenario+`"`))
}

// fitJUnit refuses a file for --junit that cannot be written, or that would replace one of the files of a folder
// that goes under those names.
func fitJUnit(name string, files []string, dirs ...string) error {
	if name == "" {
		return nil
	}
	for _, dir := range dirs {
		if !cli.SameFolder(filepath.Dir(name), dir) {
			continue
		}
		if slices.Contains(files, filepath.Base(name)) {
			return cli.Fail(cli.ExitUsage, "--junit %s would replace a file that the command itself writes there; give it another name", name)
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil // the command makes it, or the link
		}
	}
	if err := cli.Replaceable(name, reports.XMLBegins); err != nil {
		return err
	}
	return cli.Writable(name)
}

// flat refuses a file for --junit in a folder within the run's, which the next run could not replace.
func (f *folder) flat(junit string) error {
	for up := filepath.Dir(filepath.Dir(junit)); up != filepath.Dir(up); up = filepath.Dir(up) {
		if slices.ContainsFunc(f.names(), func(dir string) bool { return cli.SameFolder(up, dir) }) {
			return cli.Fail(cli.ExitUsage, "--junit %s is in a folder inside the run's folder, which holds only files; put it into %s itself, or elsewhere", junit, f.path)
		}
	}
	return nil
}

func unwritable(dir string, err error) error {
	return cli.Fail(cli.ExitUsage, "%s cannot be written: %v; choose another folder with --out", dir, strictyaml.FileReason(err))
}

// names are those that the complete folder will have.
func (f *folder) names() []string {
	if f.latest {
		return []string{f.path, f.latestLink()}
	}
	return []string{f.path}
}

func (f *folder) latestLink() string { return filepath.Join(filepath.Dir(f.path), "latest") }

// keep gives the complete folder its name, in place of what had it.
func (f *folder) keep() error {
	old := f.temp + ".old"
	err := os.Rename(f.path, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(f.path, err)
	}
	if err := os.Rename(f.temp, f.path); err != nil {
		_ = os.Rename(old, f.path)
		return unwritable(f.path, err)
	}
	_ = os.RemoveAll(old)
	if f.latest {
		f.link()
	}
	return nil
}

// link lets runs/latest point here. It is a convenience: a file system without links does without.
func (f *folder) link() {
	temp := f.temp + ".link"
	if os.Symlink(filepath.Base(f.path), temp) == nil && os.Rename(temp, f.latestLink()) != nil {
		_ = os.Remove(temp)
	}
}

// discard removes what was not kept.
func (f *folder) discard() {
	f.once.Do(func() { _ = errors.Join(os.RemoveAll(f.temp), f.lock.Close()) })
}

// file is a file of the folder that is written while the run goes. From the first write that fails on, nothing is: the run
// goes on to its verdict.
type file struct {
	*bufio.Writer
	f      *os.File
	failed error
}

// create opens a file of the folder.
func (f *folder) create(name string) (*file, error) {
	out, err := os.Create(filepath.Join(f.temp, name))
	if err != nil {
		return nil, unwritable(f.path, err)
	}
	return newFile(out), nil
}

func newFile(out *os.File) *file {
	w := &file{f: out}
	w.Writer = bufio.NewWriterSize(untilItFails{w}, 1<<18)
	return w
}

// untilItFails passes writes on until one fails.
type untilItFails struct{ *file }

func (w untilItFails) Write(p []byte) (int, error) {
	if w.failed == nil {
		_, w.failed = w.f.Write(p)
	}
	return len(p), nil
}

// close is the first error, if there was one.
func (w *file) close() error {
	return errors.Join(w.Flush(), w.failed, w.f.Close())
}
