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

// Options say what a text does not.
type Options struct {
	// Weights reads the fp16 values of a file that .weights names, as little-endian
	// bytes. nil refuses .weights.
	Weights func(name string) ([]byte, error)
	// Bind gives run-time parameters values in place of those the text has.
	Bind map[string]uint64
}

// Assemble reads a descriptor text; name is what errors call it. An error is an *Error.
func Assemble(name string, text []byte, o *Options) (*Unit, error) {
	if o == nil {
		o = new(Options)
	}
	a := &assembler{options: o, source: len(text), registers: make(map[string]regs.Register), params: make(map[string]Param)}
	for r := range regs.Registers() {
		a.registers[fold(r.Block+"."+r.Name)] = r
		a.registers[hex(uint64(r.Addr()))] = r
	}
	for r := range regs.HeaderRegisters() {
		a.registers[fold("Header."+r.Name)] = r
	}
	number := 0
	for s := range strings.Lines(string(text)) {
		number++
		l, err := split(strings.TrimRight(s, "\r\n"), number)
		if err == nil && len(l.tokens) > 0 {
			err = a.line(l)
		}
		if err != nil {
			return nil, placed(name, number, err)
		}
	}
	u, err := a.finish()
	if err != nil {
		return nil, placed(name, max(1, number), err)
	}
	return u, nil
}

// placed gives an error its file, and its line when it has none.
func placed(name string, line int, err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.File = name
		return e
	}
	return &Error{File: name, Line: line, Col: 1, What: err.Error()}
}

// An assembler is a text half read.
type assembler struct {
	options   *Options
	source    int // bytes of the text
	registers map[string]regs.Register
	params    map[string]Param
	unit      Unit
	tasks     []*task
	raw       []rawBytes
	size      token // of .size
	sizeLine  line
	container bool
}

// A task is a descriptor half read.
type task struct {
	*regs.Descriptor
	header      [regs.HeaderWords]uint32
	next        bool // the text says the next pointer
	nextSize    bool // the text says the next descriptor's size
	placed      bool // the text says the offset
	breakRecord bool // the next register starts a record
	at          line
}

// rawBytes stand at an offset of the file.
type rawBytes struct {
	off  uint64
	data []byte
	at   line
}

func (a *assembler) line(l line) error {
	head := l.tokens[0]
	if strings.HasPrefix(head.text, ".") {
		return a.directive(l)
	}
	if len(a.tasks) == 0 {
		return l.fail(head, "%s stands ahead of the first .td", head.text)
	}
	return a.register(l)
}

// most is how much one line may add to the program beyond what it spells.
const most = 1 << 20

func (a *assembler) finish() (*Unit, error) {
	if len(a.tasks) == 0 {
		return nil, fmt.Errorf("text has no descriptor; begin one with .td")
	}
	end := uint64(0)
	for i, t := range a.tasks {
		if !t.placed {
			off := (end + regs.Alignment - 1) &^ (regs.Alignment - 1)
			if off > 1<<31 {
				return nil, t.at.fail(t.at.tokens[0], "chain exceeds %#x bytes", uint64(1)<<31)
			}
			t.Offset = uint32(off)
		} else if off := uint64(t.Offset); off > end+most {
			return nil, t.at.fail(t.at.tokens[1], "offset %#x is more than %#x bytes behind what stands before it", off, most)
		}
		t.Words = regs.HeaderWords
		t.Extended = t.header[9]&3 == 3
		if t.Extended {
			t.Words++
		} else if t.Extra != 0 {
			return nil, t.at.fail(t.at.tokens[0], "Header.Extra is given, and Header.KernelBases does not ask for it")
		}
		for _, r := range t.Records {
			t.Words += 1 + len(r.Values)
		}
		if t.Words > regs.MaxWords {
			return nil, t.at.fail(t.at.tokens[0], "descriptor of %d words exceeds the %d one can have", t.Words, regs.MaxWords)
		}
		t.Index = i
		end = max(end, uint64(t.Offset)+4*uint64(t.Words))
	}
	if limit := a.limit(); end > limit {
		return nil, fmt.Errorf("chain of %#x bytes exceeds the %#x that a text of %d bytes may ask for", end, limit, a.source)
	}
	if err := a.unbound(); err != nil {
		return nil, err
	}
	for i, t := range a.tasks {
		if i+1 < len(a.tasks) {
			if !t.next {
				t.header[7] = a.tasks[i+1].Offset
			}
			if !t.nextSize {
				t.header[1] |= uint32(a.tasks[i+1].Words-1) << 16
			}
		}
		t.load()
		a.unit.Chain = append(a.unit.Chain, t.Descriptor)
	}
	return a.encode(end)
}

// load sets the descriptor's header from its words.
func (t *task) load() {
	h := &t.Header
	h.Task, h.Timing = regs.HeaderTask(t.header[0]), regs.HeaderTiming(t.header[1])
	h.LogEvents, h.Exceptions = regs.HeaderLogEvents(t.header[2]), regs.HeaderExceptions(t.header[3])
	h.DebugLogEvents, h.DebugExceptions = regs.HeaderDebugLogEvents(t.header[4]), regs.HeaderDebugExceptions(t.header[5])
	h.Control, h.Next = regs.HeaderControl(t.header[6]), regs.HeaderNext(t.header[7])
	h.Bases, h.KernelBases = regs.HeaderBases(t.header[8]), regs.HeaderKernelBases(t.header[9])
}

// limit is the most bytes the text may ask for: zeros need not be spelled out, so a
// program may be larger than its text, but not without bound.
func (a *assembler) limit() uint64 { return limitBase + limitPerByte*uint64(a.source) }

const (
	limitBase    = 64 << 20
	limitPerByte = 64
)

// unbound finds a value for a parameter that the text does not have.
func (a *assembler) unbound() error {
	for _, name := range slices.Sorted(maps.Keys(a.options.Bind)) {
		if _, ok := a.params[name]; !ok {
			return &Error{Line: 1, Col: 1, What: fmt.Sprintf("text has no parameter %q", name), Nearest: nearest(name, slices.Values(slices.Sorted(maps.Keys(a.params))))}
		}
	}
	return nil
}

// encode writes the chain over what stands at other places of the file.
func (a *assembler) encode(end uint64) (*Unit, error) {
	u := &a.unit
	if s := a.size.text; s != "" {
		n, err := number(s)
		if err != nil || n < int64(end) || n > int64(end)+most {
			return nil, a.sizeLine.fail(a.size, "size %s of the text is not between the chain's end %#x and %#x", s, end, end+most)
		}
		end = uint64(n)
	}
	if len(a.raw) > 0 && len(u.Ports) > 0 {
		return nil, a.raw[0].at.fail(a.raw[0].at.tokens[0], ".at belongs to a text without .port")
	}
	u.Text = make([]byte, end)
	file, textOff := u.Text, uint64(0)
	if a.container {
		file, textOff = u.file, u.textOff
		if size := uint64(len(file)); textOff > size || end > size-textOff {
			return nil, fmt.Errorf("text of %#x bytes at %#x leaves the container of %#x", end, textOff, size)
		}
	}
	for _, r := range a.raw {
		if r.off > uint64(len(file)) || uint64(len(r.data)) > uint64(len(file))-r.off {
			return nil, r.at.fail(r.at.tokens[1], "%d bytes at %#x leave the %#x bytes of the file", len(r.data), r.off, len(file))
		}
		copy(file[r.off:], r.data)
	}
	if a.container {
		copy(u.Text, file[textOff:])
	}
	owner := make(map[uint32]*task)
	for _, t := range a.tasks {
		for unit := t.Offset / regs.Alignment; unit <= (t.Offset+4*uint32(t.Words)-1)/regs.Alignment; unit++ {
			if o := owner[unit]; o != nil {
				return nil, t.at.fail(t.at.tokens[0], "descriptor at %#x overlaps the one of line %d at %#x", t.Offset, o.at.number, o.Offset)
			}
			owner[unit] = t
		}
		copy(u.Text[t.Offset:], t.Append(nil))
	}
	if len(u.Ports) == 0 && !a.container && (u.Constants != nil || u.Scratch != 0 || u.Procedure != "") {
		return nil, fmt.Errorf("a bare text has no memory of its own: .weights, .values, .scratch and .procedure need a .port")
	}
	return u, nil
}

// param resolves $NAME to its number.
func (a *assembler) param(l line, t token) (uint64, error) {
	name := t.text[1:]
	p, ok := a.params[name]
	if !ok {
		e := l.fail(t, "no .bind gives %s a value", t.text)
		e.Nearest = nearest(name, func(yield func(string) bool) {
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
		return 0, &Error{Line: l.number, Col: t.col, What: "parameter is out of its range", Err: &loader.RelocError{Relocation: r,
			What: fmt.Sprintf("%s is %d, want %d to %d by %d", p.Name, p.Value, p.Range.Start, p.Range.Stop, p.Range.Step)}}
	}
	return p.Value, nil
}
