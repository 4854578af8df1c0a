package campaign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/wavetank-sim/wavetank/scenarios/buildname"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// journal is the file to which a campaign appends what it finishes, one line each. Only one process at a time
// may have it.
type journal struct {
	path string
	lock *flock.Flock
	f    *os.File
	size int64 // of the complete lines
	buf  bytes.Buffer
}

// entry is a line of the journal. The first line has a Header. Every other has a record or an examination.
type entry struct {
	Header   *header       `json:"journal,omitempty"`
	Elapsed  time.Duration `json:"elapsed_ns,omitempty"` // real time that the campaign has taken so far
	Record   *Record       `json:"record,omitempty"`
	Examined *examined     `json:"examined,omitempty"`
}

// header says what wrote the journal.
type header struct {
	Version int    `json:"version"`
	Build   string `json:"build"`
	Program string `json:"program"` // a hash of the workers' executable: two builds may have one name
	Spec    string `json:"spec"`    // a hash of the spec
}

// examined is a completed examination.
type examined struct {
	N         int      `json:"n"`
	Invariant string   `json:"invariant"`
	Finding   *Finding `json:"finding"`
}

// openJournal opens the journal of the campaign in dir and calls take with each entry except the header. It
// drops a last line that is incomplete.
func openJournal(dir string, h header, take func(entry) error) (*journal, error) {
	if path := filepath.Join(dir, JournalFile); missing(path) { // a campaign has one from its beginning
		return nil, fmt.Errorf("%s, which holds the runs of the campaign, is missing; %s", path, anew)
	}
	j, err := lockJournal(dir)
	if err != nil {
		return nil, err
	}
	if err := j.open(h, take); err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// into checks an entry and passes it on. all are the campaign's runs, and done those already read.
func (e entry) into(all span, done *set, run func(*Record) error, finding func(examined) error) error {
	switch {
	case e.Record != nil:
		if err := e.Record.check(all, *done); err != nil {
			return err
		}
		done.add(e.Record.N)
		return run(e.Record)
	case e.Examined != nil && e.Examined.Finding != nil && finding != nil:
		return finding(*e.Examined)
	case e.Examined != nil && e.Examined.Finding != nil:
		return nil
	}
	return errors.New("the line is empty")
}

// Running says whether a process is running the campaign in dir.
func Running(dir string) bool {
	lock := flock.New(filepath.Join(dir, LockFile), flock.SetFlag(os.O_RDONLY))
	defer lock.Close() // it was only read: nothing to lose
	free, err := lock.TryRLock()
	return err == nil && !free
}

// Busy is the error of a campaign that another process is running.
func Busy(dir string) error {
	return fmt.Errorf("another process runs the campaign in %s; wait for it, or end it", dir)
}

// lockJournal locks the journal of dir for this process.
func lockJournal(dir string) (*journal, error) {
	j := &journal{path: filepath.Join(dir, JournalFile), lock: flock.New(filepath.Join(dir, LockFile))}
	mine, err := j.lock.TryLock()
	switch {
	case err != nil:
		return nil, unwritable(j.path, err)
	case !mine:
		return nil, Busy(dir)
	}
	if j.f, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		_ = j.lock.Close()
		return nil, unwritable(j.path, err)
	}
	return j, nil
}

func (j *journal) open(h header, take func(entry) error) error {
	err := j.read(func(n int, e entry) error {
		if n == 1 {
			return h.continues(*e.Header)
		}
		if err := take(e); err != nil {
			return fmt.Errorf("%w; %s", err, anew)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(j.path), FindingsDir, "*")); j.size == 0 && len(found) > 0 {
		return fmt.Errorf("%s is empty, but the campaign has findings; %s", j.path, anew)
	}
	if err := j.rewind(); err != nil {
		return unwritable(j.path, err)
	}
	if j.size == 0 {
		return j.append(entry{Header: &h})
	}
	return nil
}

// read calls take with each entry and its line number. Line 1 has the header.
func (j *journal) read(take func(int, entry) error) error {
	in := bufio.NewReaderSize(j.f, 1<<16)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil // the process ended while it wrote this line
		} else if err != nil {
			return fmt.Errorf("%s cannot be read: %w", j.path, strictyaml.FileReason(err))
		}
		e, err := entryOf(n, line)
		if err == nil {
			err = take(n, e)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", j.path, n, err)
		}
		j.size += int64(len(line))
	}
}

// anew is the remedy for a journal that cannot be continued.
const anew = "remove the folder and begin the campaign anew"

// ErrOtherBuild is the error of an unfinished campaign whose runs were made by another build.
var ErrOtherBuild = errors.New("the campaign was begun by another build")

// entryOf parses the n-th line.
func entryOf(n int, line []byte) (e entry, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err = dec.Decode(&e)
	switch was := e.Header; {
	case n == 1 && was != nil && was.Version != SpecVersion:
		return e, fmt.Errorf("the journal's format is version %d; this build writes version %d: go on with the build that began it, or %s", was.Version, SpecVersion, anew)
	case err != nil:
		return e, fmt.Errorf("the line is broken: %s; %s", jsonReason(err), anew)
	case n == 1 && was == nil || n > 1 && was != nil:
		return e, fmt.Errorf("the line is out of order; %s", anew)
	}
	return e, nil
}

// continues returns an error if a journal with the header was cannot be continued under h.
func (h header) continues(was header) error {
	switch {
	case was.Spec != h.Spec:
		return fmt.Errorf("the journal belongs to another campaign than %s; %s", SpecFile, anew)
	case was != h:
		return fmt.Errorf("%w; go on with that one, or %s", h.differs(was), anew)
	}
	return nil
}

// differs returns the error of a journal by the build of was. It says how to get that build, if its code was
// committed.
func (h header) differs(was header) error {
	again := ""
	if was.Build != buildname.Devel && !strings.HasSuffix(was.Build, buildname.Dirty) {
		again = fmt.Sprintf("; to have that one, check out %s and build it while git status lists no file", was.Build)
	}
	return fmt.Errorf("%w (%s, program %s) than this one (%s, program %s)%s", ErrOtherBuild, was.Build, was.Program, h.Build, h.Program, again)
}

// append writes one complete line, or nothing.
func (j *journal) append(e entry) error {
	j.buf.Reset()
	enc := json.NewEncoder(&j.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	n, err := j.f.Write(j.buf.Bytes())
	if err != nil {
		if n > 0 {
			_ = j.rewind() // if that fails, too, the next process drops the incomplete line
		}
		return unwritable(j.path, err)
	}
	j.size += int64(n)
	return nil
}

// rewind removes what follows the last complete line.
func (j *journal) rewind() error {
	if err := j.f.Truncate(j.size); err != nil {
		return err
	}
	_, err := j.f.Seek(j.size, io.SeekStart)
	return err
}

func (j *journal) close() {
	_ = j.f.Close()
	_ = j.lock.Close()
}
