package exhaust

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// KeptFile has the operations that the runs of single faults make after their faults, a line for each run.
// Pairs are found in them.
const KeptFile = "singles.jsonl"

// Kept is a file with the results of those runs, so that no process repeats one. A nil Kept keeps nothing.
type Kept struct {
	file *os.File // nil: it is read only
	runs map[int]listed
}

// kept is a line of the file: the writer, or the result of a run.
type kept struct {
	By    string `json:"by,omitempty"`
	First int    `json:"first"` // the index of the run's fault among the first faults
	listed
}

// Keep opens or makes the file at path. It discards what another program, or a search for other pairs, has
// written. by identifies the writer and the search.
func Keep(path, by string) (*Kept, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	k := &Kept{f, map[int]listed{}}
	data, err := io.ReadAll(f)
	if err == nil && !k.read(data, by) {
		k.runs = map[int]listed{}
		if err = f.Truncate(0); err == nil {
			err = k.write(kept{By: by})
		}
	} else if err == nil && !bytes.HasSuffix(data, []byte("\n")) {
		_, err = f.WriteString("\n") // after a line that was cut short
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return k, nil
}

// ReadKept reads the file at path if it exists and has the same writer. It writes nothing.
func ReadKept(path, by string) *Kept {
	k := &Kept{runs: map[int]listed{}}
	if data, err := os.ReadFile(path); err == nil && !k.read(data, by) {
		k.runs = map[int]listed{}
	}
	return k
}

// KeptByOther says whether the file at path has another writer.
func KeptByOther(path, by string) bool {
	data, err := os.ReadFile(path)
	return err == nil && len(data) > 0 && !(&Kept{runs: map[int]listed{}}).read(data, by)
}

// read reads the lines, and says whether that writer wrote them. A line that was cut short does not count.
func (k *Kept) read(data []byte, by string) bool {
	for n, line := range bytes.Split(data, []byte("\n")) {
		var l kept
		err := json.Unmarshal(line, &l)
		switch {
		case n == 0 && (err != nil || l.By != by):
			return false
		case n > 0 && err == nil:
			k.runs[l.First] = l.listed
		}
	}
	return true
}

func (k *Kept) write(l kept) error {
	if k.file == nil {
		return nil
	}
	line, err := json.Marshal(l)
	if err == nil {
		_, err = k.file.Write(append(line, '\n'))
	}
	return err
}

// listed returns the operations of the n-th first fault's run, from the file or else from run.
func (k *Kept) listed(n int, run func() (listed, error)) (listed, error) {
	if k == nil {
		return run()
	}
	if l, there := k.runs[n]; there {
		return l, nil
	}
	l, err := run()
	if err == nil {
		err = k.write(kept{First: n, listed: l})
	}
	return l, err
}

// Close closes the file.
func (k *Kept) Close() error {
	if k == nil || k.file == nil {
		return nil
	}
	return k.file.Close()
}
