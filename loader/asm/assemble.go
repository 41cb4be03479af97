package asm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anesim/hw/regs"
	"anesim/loader"
)

// Options configures [Assemble].
type Options struct {
	// Weights returns the contents of the file that a .weights line names: fp16 values as
	// little-endian bytes. If Weights is nil, .weights lines are errors.
	Weights func(name string) ([]byte, error)
	// Bind replaces the values of run-time parameters that the text declares. The keys are
	// the names of the parameters.
	Bind map[string]uint64
}

// Assemble parses descriptor text and returns the program that it describes. name identifies the
// text in errors, which are all of type *[Error]. If o is nil, Assemble uses the zero Options.
func Assemble(name string, text []byte, o *Options) (*Unit, error) {
	if o == nil {
		o = new(Options)
	}
	a := &assembler{options: o, source: len(text), registers: make(map[string]regs.Register), params: make(map[string]Param)}
	for r := range regs.Registers() {
		a.registers[toLowerASCII(r.Block+"."+r.Name)] = r
		a.registers[formatHex(uint64(r.Addr()))] = r
	}
	for r := range regs.HeaderRegisters() {
		a.registers[toLowerASCII("Header."+r.Name)] = r
	}
	number := 0
	for s := range strings.Lines(string(text)) {
		number++
		l, err := tokenizeLine(strings.TrimRight(s, "\r\n"), number)
		if err == nil && len(l.tokens) > 0 {
			err = a.assembleLine(l)
		}
		if err != nil {
			return nil, addPosition(name, number, err)
		}
	}
	u, err := a.finishUnit()
	if err != nil {
		return nil, addPosition(name, max(1, number), err)
	}
	return u, nil
}

// addPosition returns err as an *[Error] for the named text. If err has no position of its
// own, it gets the given line.
func addPosition(name string, line int, err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.File = name
		return e
	}
	return &Error{File: name, Line: line, Col: 1, What: err.Error()}
}

// An assembler holds the state of assembling one descriptor text.
type assembler struct {
	options   *Options
	source    int // size of the text in bytes
	registers map[string]regs.Register
	params    map[string]Param
	unit      Unit
	tasks     []*task
	raw       []rawBytes
	size      token // operand of .size
	sizeLine  line
	container bool
}

// A task is the descriptor that the following lines of the text describe.
type task struct {
	*regs.Descriptor
	header      [regs.HeaderWords]uint32
	next        bool // the text sets the next pointer
	nextSize    bool // the text sets the next descriptor's size
	placed      bool // the text sets the offset
	breakRecord bool // the next register starts a new record
	at          line
}

// A rawBytes holds bytes that an .at line stores at an offset.
type rawBytes struct {
	off  uint64
	data []byte
	at   line
}

func (a *assembler) assembleLine(l line) error {
	head := l.tokens[0]
	if strings.HasPrefix(head.text, ".") {
		return a.assembleDirective(l)
	}
	if len(a.tasks) == 0 {
		return l.errorAt(head, "unexpected %s before the first .td", head.text)
	}
	return a.assembleRegister(l)
}

// maxLineBytes limits the number of zero bytes that a single line can add to the program.
const maxLineBytes = 1 << 20

func (a *assembler) finishUnit() (*Unit, error) {
	if len(a.tasks) == 0 {
		return nil, fmt.Errorf("text has no descriptor; want at least one .td")
	}
	end := uint64(0)
	for i, t := range a.tasks {
		if !t.placed {
			off := (end + regs.Alignment - 1) &^ (regs.Alignment - 1)
			if off > 1<<31 {
				return nil, t.at.errorAt(t.at.tokens[0], "chain exceeds %#x bytes", uint64(1)<<31)
			}
			t.Offset = uint32(off)
		} else if off := uint64(t.Offset); off > end+maxLineBytes {
			// An offset that a line gives may leave a gap, but a short text must not become gigabytes of
			// zeros.
			return nil, t.at.errorAt(t.at.tokens[1], "offset %#x is more than %#x bytes after the previous descriptor", off, maxLineBytes)
		}
		t.Words = regs.HeaderWords
		t.Extended = regs.HeaderKernelBases(t.header[9]).KBase0() == regs.BARScratch
		if t.Extended {
			t.Words++
		} else if t.Extra != 0 {
			return nil, t.at.errorAt(t.at.tokens[0], "Header.Extra is set, but Header.KernelBases does not enable it")
		}
		for _, r := range t.Records {
			t.Words += 1 + len(r.Values)
		}
		if t.Words > regs.MaxWords {
			return nil, t.at.errorAt(t.at.tokens[0], "descriptor has %d words; want at most %d", t.Words, regs.MaxWords)
		}
		t.Index = i
		end = max(end, uint64(t.Offset)+4*uint64(t.Words))
	}
	if limit := a.byteLimit(); end > limit {
		return nil, fmt.Errorf("chain of %#x bytes is too large for a text of %d bytes; want at most %#x", end, a.source, limit)
	}
	if err := a.checkBindings(); err != nil {
		return nil, err
	}
	// A header holds the offset and the size of the next descriptor, which are known only now that all
	// descriptors have a place.
	for i, t := range a.tasks {
		if i+1 < len(a.tasks) {
			if !t.next {
				t.header[7] = a.tasks[i+1].Offset
			}
			if !t.nextSize {
				t.header[1] |= uint32(a.tasks[i+1].Words-1) << 16
			}
		}
		t.setHeader()
		a.unit.Chain = append(a.unit.Chain, t.Descriptor)
	}
	return a.encodeProgram(end)
}

// setHeader sets t.Header from the header words that the text gives.
func (t *task) setHeader() {
	h := &t.Header
	h.Task, h.Timing = regs.HeaderTask(t.header[0]), regs.HeaderTiming(t.header[1])
	h.LogEvents, h.Exceptions = regs.HeaderLogEvents(t.header[2]), regs.HeaderExceptions(t.header[3])
	h.DebugLogEvents, h.DebugExceptions = regs.HeaderDebugLogEvents(t.header[4]), regs.HeaderDebugExceptions(t.header[5])
	h.Control, h.Next = regs.HeaderControl(t.header[6]), regs.HeaderNext(t.header[7])
	h.Bases, h.KernelBases = regs.HeaderBases(t.header[8]), regs.HeaderKernelBases(t.header[9])
}

// byteLimit returns the largest permitted size of the program in bytes. It grows with the
// text, so that a short text cannot request much memory.
func (a *assembler) byteLimit() uint64 { return limitBase + limitPerByte*uint64(a.source) }

const (
	limitBase    = 64 << 20
	limitPerByte = 64
)

// checkBindings returns an error if Options.Bind names a parameter that the text does not
// declare.
func (a *assembler) checkBindings() error {
	for _, name := range slices.Sorted(maps.Keys(a.options.Bind)) {
		if _, ok := a.params[name]; !ok {
			return &Error{Line: 1, Col: 1, What: fmt.Sprintf("unknown parameter %q", name), Nearest: nearestName(name, slices.Values(slices.Sorted(maps.Keys(a.params))))}
		}
	}
	return nil
}

// encodeProgram returns the finished program, whose chain ends at offset end. The descriptors
// overwrite the bytes of .at lines.
func (a *assembler) encodeProgram(end uint64) (*Unit, error) {
	u := &a.unit
	if s := a.size.text; s != "" {
		n, err := regs.ParseNumber(s)
		if err != nil || n < int64(end) || n > int64(end)+maxLineBytes {
			return nil, a.sizeLine.errorAt(a.size, "text size %s is not between %#x, the end of the chain, and %#x", s, end, end+maxLineBytes)
		}
		end = uint64(n)
	}
	if len(a.raw) > 0 && len(u.Ports) > 0 {
		return nil, a.raw[0].at.errorAt(a.raw[0].at.tokens[0], ".at cannot be combined with .port")
	}
	u.Text = make([]byte, end)
	// In a container, .at lines name offsets of the file, because they also hold its load commands. They
	// are stored there, and the text is then read back.
	file, textOff := u.Text, uint64(0)
	if a.container {
		file, textOff = u.file, u.textOff
		if size := uint64(len(file)); textOff > size || end > size-textOff {
			return nil, fmt.Errorf("text of %#x bytes at %#x extends past the end of the container (%#x bytes)", end, textOff, size)
		}
	}
	for _, r := range a.raw {
		if r.off > uint64(len(file)) || uint64(len(r.data)) > uint64(len(file))-r.off {
			return nil, r.at.errorAt(r.at.tokens[1], "%d bytes at %#x extend past the end of the file (%#x bytes)", len(r.data), r.off, len(file))
		}
		copy(file[r.off:], r.data)
	}
	if a.container {
		copy(u.Text, file[textOff:])
	}
	// Descriptors are aligned, so two of them overlap only if they share a unit of the alignment.
	// Comparing all pairs would cost the square of their number.
	owner := make(map[uint32]*task)
	for _, t := range a.tasks {
		for unit := t.Offset / regs.Alignment; unit <= (t.Offset+4*uint32(t.Words)-1)/regs.Alignment; unit++ {
			if o := owner[unit]; o != nil {
				return nil, t.at.errorAt(t.at.tokens[0], "descriptor at %#x overlaps the descriptor of line %d at %#x", t.Offset, o.at.number, o.Offset)
			}
			owner[unit] = t
		}
		copy(u.Text[t.Offset:], t.Append(nil))
	}
	if len(u.Ports) == 0 && !a.container && (u.Constants != nil || u.Scratch != 0 || u.Procedure != "") {
		return nil, fmt.Errorf(".weights, .values, .scratch and .procedure require a .port")
	}
	return u, nil
}

// resolveParam returns the value of the run-time parameter that token t, $NAME, refers to.
func (a *assembler) resolveParam(l line, t token) (uint64, error) {
	name := t.text[1:]
	p, ok := a.params[name]
	if !ok {
		e := l.errorAt(t, "undeclared parameter %s; want a .bind before it", t.text)
		e.Nearest = nearestName(name, func(yield func(string) bool) {
			for _, p := range a.unit.Params {
				if !yield(p.Name) {
					return
				}
			}
		})
		return 0, e
	}
	r := loader.Relocation{Kind: loader.LiveIn, Width: 32, Value: p.Value, Name: p.Name, Range: p.Range}
	if !p.Range.Contains(p.Value) {
		return 0, &Error{Line: l.number, Col: t.col, What: "invalid parameter value", Err: &loader.RelocError{Relocation: r,
			What: fmt.Sprintf("%s is %d; want %d to %d in steps of %d", p.Name, p.Value, p.Range.Start, p.Range.Stop, p.Range.Step)}}
	}
	return p.Value, nil
}
