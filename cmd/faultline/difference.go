package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// difference is the first line in which two traces differ.
type difference struct {
	line int // from 1; 0 if they do not differ
	a, b string
}

func (d difference) String() string {
	if d.line == 0 {
		return "  The traces are equal, event by event; only the verdicts or digests differ."
	}
	return fmt.Sprintf("  The first event that differs is the %s:\n  GOMAXPROCS=1: %s\n  GOMAXPROCS=2: %s", ordinal(d.line), d.a, d.b)
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// firstDifference compares two traces line by line.
func firstDifference(a, b string) (difference, error) {
	fa, err := os.Open(a)
	if err != nil {
		return difference{}, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return difference{}, err
	}
	defer fb.Close()
	ra, rb := bufio.NewReaderSize(fa, 1<<16), bufio.NewReaderSize(fb, 1<<16)
	for line := 1; ; line++ {
		la, errA := nextLine(ra)
		lb, errB := nextLine(rb)
		switch {
		case la != lb || (errA == io.EOF) != (errB == io.EOF):
			return difference{line, la, lb}, nil
		case errA == io.EOF:
			return difference{}, nil
		case errA != nil || errB != nil:
			return difference{}, errors.Join(errA, errB)
		}
	}
}

// nextLine returns a line without its end. A trace that has ended reads as a line that says so.
func nextLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if line != "" && err == io.EOF {
		err = nil
	}
	if err == io.EOF {
		return "(the trace has ended)", io.EOF
	}
	return strings.TrimSuffix(line, "\n"), err
}

// copyInto copies file into folder dir.
func copyInto(dir, file, name string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
