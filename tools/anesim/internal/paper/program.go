package paper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"anesim"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/lower"
)

// addExactClaim adds a row for a claim whose figures must be equal.
func (p *paper) addExactClaim(area, claim, unit string, document, model uint64, shownBy, against string) {
	p.addClaim(area, claim, unit, float64(document), float64(model), 0, shownBy, against)
}

// addTableClaim adds a row that compares a claim of one document with a table of another document.
// The model contains that table as data.
func (p *paper) addTableClaim(area, claim, unit string, document, model uint64, shownBy, against string) {
	p.addExactClaim(area, claim, unit, document, model, shownBy, against)
	p.rows[len(p.rows)-1].Basis = "data"
}

// containerNetwork is the graph of the documents' second container.
const containerNetwork = smallGraph + `  - {name: fc, op: conv, cout: 4, k: 1}
`

// comparePrograms builds the two programs that the documents describe and compares their bytes.
func (p *paper) comparePrograms() error {
	if err := p.compareIdentityProgram(); err != nil {
		return err
	}
	return p.compareGraphProgram()
}

// compareIdentityProgram compares the identity program, which the documents decode byte by byte,
// with the built-in one.
func (p *paper) compareIdentityProgram() error {
	const area, how = "identity program", "anesim dump of the built-in program"
	q, err := lower.IdentityProgram()
	if err != nil {
		return err
	}
	file := q.Bytes()
	le := binary.LittleEndian
	// The bytes of the file are compared, not the fields of the reader, which could be wrong alike.
	word := func(claim string, at int, want uint32) {
		p.addExactClaim(area, claim, "hex", uint64(want), uint64(le.Uint32(file[at:])), how, "")
	}
	word("magic of a container", 0, 0xbeefface)
	word("CPU type", 4, 0x80)
	word("CPU subtype, the M1's", 8, 4)
	word("file type", 12, 2)
	word("load commands", 16, 15)
	word("bytes of the load commands", 20, 0x32d8)
	word("flags", 24, 0x200000)
	var segments, ports, threads int
	for _, l := range q.Container.Loads {
		switch l.(type) {
		case *loader.SegmentLoad:
			segments++
		case *loader.PortLoad:
			ports++
		case *loader.ProgramLoad, *loader.OperationLoad:
			threads++
		}
	}
	p.addExactClaim(area, "segment commands", "", 7, uint64(segments), how, "")
	p.addExactClaim(area, "port commands", "", 2, uint64(ports), how, "")
	p.addExactClaim(area, "thread commands: the program and two operands", "", 3, uint64(threads), how, "they are context-restore blobs of registers in another chapter")
	for _, s := range []struct {
		what       string
		addr, size uint64
		at         func() *loader.Segment
	}{
		{"input", 0x30008000, 0x80, func() *loader.Segment { in, _ := q.Port("t0", loader.Input); return findSegment(q, in.Address) }},
		{"output", 0x3000c000, 0x80, func() *loader.Segment { out, _ := q.Port("t2", loader.Output); return findSegment(q, out.Address) }},
		{"text", 0x30010000, 0x474, func() *loader.Segment { return findSegment(q, q.TextAddr) }},
		{"weights", 0x30018000, 0x2000, func() *loader.Segment { return findSegment(q, q.BARs[regs.BARWeights]) }},
	} {
		if got := s.at(); got != nil {
			p.addExactClaim(area, "address of the "+s.what, "hex", s.addr, got.Addr, how, "")
			p.addExactClaim(area, "bytes of the "+s.what, "hex", s.size, got.Size, how, "")
		}
	}
	in, _ := q.Port("t0", loader.Input)
	p.addExactClaim(area, "elements of the input's row", "", 64, uint64(in.Shape[3]), how, "")
	p.addExactClaim(area, "stride of the input's row", "bytes", 128, in.Strides[2], how, "")
	same := func(at, n int, want uint32) uint64 {
		c := 0
		for c < n && le.Uint32(q.Text[at+4*c:]) == want {
			c++
		}
		return uint64(c)
	}
	p.addExactClaim(area, "words 0x80 from 0x34 of the text: lanes that are off", "", 16, same(0x34, 16, 0x80), how, "")
	p.addExactClaim(area, "words 0x81 from 0x234: lanes that are on", "", 16, same(0x234, 16, 0x81), how, "")
	steps := uint64(1)
	for steps < 16 && le.Uint32(q.Text[0x274+4*steps:])-le.Uint32(q.Text[0x274+4*steps-4:]) == 512 {
		steps++
	}
	p.addExactClaim(area, "lanes of coefficients 512 bytes apart, from 0x274", "", 16, steps, how, "")
	weights := findSegment(q, q.BARs[regs.BARWeights])
	p.addExactClaim(area, "bytes of the weights that are not zero", "", 64, uint64(len(weights.Data)-bytes.Count(weights.Data, []byte{0})), how, "")
	ones := 0
	for i := 0; i+2 <= len(weights.Data); i += 2 {
		if le.Uint16(weights.Data[i:]) == 0x3c00 {
			ones++
		}
	}
	p.addExactClaim(area, "weights of 1.0, 0x3c00", "", 64, uint64(ones), how, "")
	configs, err := listConvCfgs(q)
	if err != nil {
		return err
	}
	p.addExactClaim(area, "word of the mean that the documents call its opcode", "hex", 0x5000a021, configs[0], how, "it is the value of Common.ConvCfg, here of a copy")
	wide, err := anesim.Layer("linear", "m=1", "k=64", "n=256")
	if err != nil {
		return err
	}
	list, err := wide.Programs(p.ctx, anesim.Options{})
	if err != nil {
		return err
	}
	if configs, err = listConvCfgs(list[0]); err != nil {
		return err
	}
	p.addExactClaim(area, "word of a matrix product that the documents call its opcode", "hex", 0x5000b021, configs[len(configs)-1], "anesim layer linear m=1 k=64 n=256", "it is Common.ConvCfg of 16 channels an engine")
	align := uint64(0)
	for i := range q.Segments {
		if s := &q.Segments[i]; strings.HasPrefix(s.Name, "__FVMLIB") {
			align |= s.Addr
		}
	}
	p.addExactClaim(area, "windows stand at multiples of", "hex", 0x4000, 1<<bits.TrailingZeros64(align), how, "")
	return nil
}

// compareGraphProgram compares the program of a small graph with three descriptors with the
// documents.
func (p *paper) compareGraphProgram() error {
	const area, how = "graph program", "anesim model of conv 3x3 8->8, relu, mean, conv 1x1"
	m, err := anesim.Read("graph.yaml", strings.NewReader(containerNetwork), int64(len(containerNetwork)))
	if err != nil {
		return err
	}
	list, err := m.Programs(p.ctx, anesim.Options{})
	if err != nil {
		return err
	}
	q := list[0]
	var at []uint64
	for d, err := range q.Descriptors() {
		if err != nil {
			return err
		}
		at = append(at, uint64(d.Offset))
	}
	for i, want := range []uint64{0, 0x300, 0x500} {
		// A program with too few descriptors fails in the claims below, not with a panic here.
		if i < len(at) {
			p.addExactClaim(area, fmt.Sprintf("place of descriptor %d in the text", i), "hex", want, at[i], how, "")
		}
	}
	p.addExactClaim(area, "relocations of the text", "", 12, uint64(len(q.Relocations)), how, "")
	live := uint64(0)
	for _, t := range q.Tiles {
		if t.Live && t.Digest == q.Tiles[0].Digest {
			live++
		}
	}
	p.addExactClaim(area, "weight tiles of the convolution", "", 8, live, how, "min(8, lanes): matrix products have 16")
	configs, err := listConvCfgs(q)
	if err != nil {
		return err
	}
	p.addExactClaim(area, "word of the convolution that the documents call its opcode", "hex", 0x5042a063, configs[0], how, "it is the value of Common.ConvCfg")
	linked, err := q.Link()
	if err != nil {
		return err
	}
	lane := func(k int) uint64 { return uint64(linked.Tasks[k].Groups.KernelDMASrc.CoeffBfrSize[0].Bytes()) }
	p.addExactClaim(area, "bytes of a lane's coefficients, conv 3x3 of 8 channels", "hex", 0xc0, lane(0), how, "")
	p.addExactClaim(area, "bytes of a lane's coefficients, conv 1x1 of 8 channels", "hex", 0x40, lane(2), how, "")
	in, _ := q.Port("x", loader.Input)
	for axis, want := range []uint64{8192, 1024, 64, 2} {
		p.addExactClaim(area, "stride of the input along "+[...]string{"n", "c", "h", "w"}[axis], "bytes", want, in.Strides[axis], how, "")
	}
	p.addExactClaim(area, "debug-event word of the last descriptor", "hex", 0xfff86a, uint64(linked.Tasks[2].Header.DebugLogEvents), how, "documents read it as a mask of configurations")
	return nil
}

// findSegment returns the segment of p that contains addr, or nil if there is none.
func findSegment(p *loader.Program, addr uint64) *loader.Segment {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Addr <= addr && addr < s.End() {
			return s
		}
	}
	return nil
}

// listConvCfgs returns the word of register ConvCfg in each descriptor of a program.
func listConvCfgs(p *loader.Program) (words []uint64, err error) {
	var file regs.File
	var g regs.Groups
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		if err := d.Apply(&file); err != nil {
			return nil, err
		}
		file.Snapshot(&g)
		words = append(words, uint64(regs.Raw(g.Common.ConvCfg)))
	}
	return words, nil
}
