package exhaust

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// KeptFile has what the runs of single faults come to that pairs are looked for in, a line each.
const KeptFile = "singles.jsonl"

// Kept is a file of the runs that look for pairs: none of them is made again, by whatever process. Nil keeps nothing.
type Kept struct {
	file *os.File // nil: it is read only
	runs map[int]listed
}

// kept is a line of the file: who wrote it, or what a run came to.
type kept struct {
	By    string `json:"by,omitempty"`
	First int    `json:"first"` // the fault of the run, by its place among the firsts
	listed
}

// Keep opens the file at path, or makes it. What another program, or a search for others, has written is thrown away: by says
// who writes, and for what.
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

// ReadKept reads the file at path, if it is there and by that writer, and writes nothing.
func ReadKept(path, by string) *Kept {
	k := &Kept{runs: map[int]listed{}}
	if data, err := os.ReadFile(path); err == nil && !k.read(data, by) {
		k.runs = map[int]listed{}
	}
	return k
}

// KeptByOther says whether another writer, or a search for others, has left the file at path.
func KeptByOther(path, by string) bool {
	data, err := os.ReadFile(path)
	return err == nil && len(data) > 0 && !(&Kept{runs: map[int]listed{}}).read(data, by)
}

// read says whether the lines are by that writer, and enters them. One that was cut short is none.
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

// listed is what the run of the n-th first fault comes to, from the file or else from run.
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

// Close ends the writing.
func (k *Kept) Close() error {
	if k == nil || k.file == nil {
		return nil
	}
	return k.file.Close()
}
