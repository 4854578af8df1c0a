package campaign

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// capture keeps the beginning of a process's standard error or, if the process panics, the part from the
// panic on.
type capture struct {
	mu      sync.Mutex
	line    []byte // the line that has begun
	text    []byte
	panicks bool
}

const captureBytesMax = 64 << 10

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for part := range bytes.Lines(p) {
		c.line = append(c.line, part[:min(len(part), max(0, captureBytesMax-len(c.line)))]...)
		if bytes.HasSuffix(part, []byte("\n")) {
			c.endLine()
		}
	}
	return len(p), nil
}

func (c *capture) endLine() {
	if panics(string(c.line)) && (!c.panicks || !bytes.Contains(c.text, []byte("\ngoroutine "))) {
		c.text, c.panicks = c.text[:0], true
	}
	c.text = append(c.text, c.line[:min(len(c.line), captureBytesMax-len(c.text))]...)
	c.line = c.line[:0]
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text) + string(c.line)
}

// panics says whether a line is the first that the runtime writes when it ends a process.
func panics(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// A kept stack has only what is the same in every process that takes the same steps. It has no addresses, no
// numbers of goroutines and no paths of this machine.

// modulePath is the prefix of this module's function names.
const modulePath = "github.com/wavetank-sim/wavetank/"

// Bounds of what is kept.
const (
	framesMax       = 24
	messageBytesMax = 1 << 10
)

// frame is a call on a stack.
type frame struct {
	function string // without this module's path
	at       string // file and line, without the folder
	ours     bool   // it belongs to this module
}

var (
	address  = regexp.MustCompile(`0x[0-9a-f]+`)
	fileLine = regexp.MustCompile(`([^/\\]+\.(?:go|s):\d+)`)
)

// stackOfPanic is the canonical form of a process's panic: its message, and the calls that led to it. It is
// empty if the process did not panic.
func stackOfPanic(said string) string {
	if !panics(said) {
		return ""
	}
	message, stack, _ := strings.Cut(said, "\n\ngoroutine ")
	message, _, _ = strings.Cut(message, "\n\nruntime stack:")
	var b strings.Builder
	for line := range strings.Lines(message) {
		if !strings.HasPrefix(line, "[signal ") {
			b.WriteString(line)
		}
	}
	text := address.ReplaceAllString(strings.TrimSpace(b.String()), "0x?")
	text = text[:min(len(text), messageBytesMax)]
	first, _, _ := strings.Cut(stack, "\n\n")
	for _, f := range framesOf(first) {
		text += "\n  " + f.function + " " + f.at
	}
	return text
}

// stackOfError is the canonical form of the error that ended a world. It may contain a stack.
func stackOfError(err error) string {
	message, stack, _ := strings.Cut(err.Error(), "\ngoroutine ")
	text := address.ReplaceAllString(strings.TrimSpace(message), "0x?")
	text = text[:min(len(text), messageBytesMax)]
	for _, f := range framesOf(stack) {
		text += "\n  " + f.function + " " + f.at
	}
	return text
}

// framesOf parses the stack of one goroutine, and leaves out the runtime's own calls.
func framesOf(stack string) []frame {
	var frames []frame
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines) && len(frames) < framesMax; i++ {
		if !strings.HasPrefix(lines[i+1], "\t") {
			continue
		}
		name, created := strings.CutPrefix(lines[i], "created by ")
		if created {
			name, _, _ = strings.Cut(name, " in goroutine ")
		} else if args := strings.LastIndexByte(name, '('); args >= 0 {
			name = name[:args]
		}
		f := frame{at: fileLine.FindString(lines[i+1])}
		f.function, f.ours = strings.CutPrefix(name, modulePath)
		if i++; !f.ours && (strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "runtime/") || strings.HasPrefix(name, "internal/") || name == "panic") {
			continue
		}
		frames = append(frames, f)
	}
	return frames
}

// bubbled is a goroutine of a bubble in a dump.
type bubbled struct {
	id      string
	waits   bool // it waits in a way that lets virtual time pass
	frames  []frame
	stepper bool // it runs the world itself
}

// bubbleIn lists the goroutines in a dump that belong to a bubble and run this module's code.
func bubbleIn(dump string) []bubbled {
	var list []bubbled
	for text := range strings.SplitSeq(dump, "\n\n") {
		head, _, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(head, "goroutine ") || !strings.Contains(head, "synctest bubble") {
			continue
		}
		g := bubbled{id: strings.Fields(head)[1], waits: strings.Contains(head, "(durable)") || strings.Contains(head, "[sleep")}
		for _, f := range framesOf(text) {
			if f.ours {
				g.frames = append(g.frames, frame{function: f.function})
			}
			if f.function == "sim.inBubble" || f.function == "sim.Run" {
				g.stepper = true
			}
		}
		if len(g.frames) > 0 {
			list = append(list, g)
		}
	}
	return list
}

// outlived says whether a world that does not move has ended, so that only what it left does not move.
func outlived(dump string) bool {
	return !strings.Contains(dump, "sim.(*World).Step(")
}

// stackOfLeak is the canonical form of the goroutines that a world left behind.
func stackOfLeak(dump string) string {
	var stacks []string
	for _, g := range bubbleIn(dump) {
		if !g.stepper {
			stacks = append(stacks, calls(g.frames))
		}
	}
	return together("goroutines outlived their world", stacks)
}

// Samples of a world that hangs. A loop is at another place in each.
const (
	samples     = 16
	sampleEvery = 5 * time.Millisecond
)

// stackOfHang is the canonical form of the goroutines that keep a world from moving: they neither wait for it
// nor end. For a loop it has the calls that the loop never leaves.
func stackOfHang() string {
	stuck := map[string][]frame{}
	for i := range samples {
		now := map[string][]frame{}
		for _, g := range bubbleIn(allStacks()) {
			if was, all := stuck[g.id], i == 0; !g.waits && !g.stepper && (all || was != nil) {
				now[g.id] = g.frames
				if !all {
					now[g.id] = common(was, g.frames)
				}
			}
		}
		stuck = now
		time.Sleep(sampleEvery)
	}
	var stacks []string
	for _, frames := range stuck {
		stacks = append(stacks, calls(frames))
	}
	return together("the world does not move", stacks)
}

// common returns the calls that both stacks have, from the outermost on.
func common(a, b []frame) []frame {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return a[len(a)-n:]
}

func calls(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		b.WriteString("\n  " + f.function)
	}
	return b.String()
}

// stacksMax is how many different stacks are kept.
const stacksMax = 8

// together joins stacks under a title, each once, in an order that does not depend on theirs.
func together(title string, stacks []string) string {
	slices.Sort(stacks)
	stacks = slices.Compact(stacks)
	text := title
	for _, s := range stacks[:min(len(stacks), stacksMax)] {
		text += "\n\ngoroutine:" + s
	}
	if more := len(stacks) - stacksMax; more > 0 {
		text += fmt.Sprintf("\n\nand %d more", more)
	}
	return text
}

func allStacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
