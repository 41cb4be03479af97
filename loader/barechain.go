package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"anesim/hw/regs"
)

// A bare chain of descriptors shows which buffers it reads and writes and how far, but not where
// they are. Its windows are placed as Apple's compiler places them (seen in 41 programs with
// known addresses): from 0x30000000 the scratch memory, then the surfaces in the order of their
// index, each rounded up to a page, then the text, and the constants at the next multiple of 64.

// unreadConstants is the size of the section of zeros, 16 KiB, that the compiler writes for
// programs that read no constants (seen in files).
const unreadConstants = 0x4000

// A buffer describes how the descriptors of a program use one buffer.
type buffer struct {
	bar     int
	bytes   uint64 // end of the last byte that is moved or declared
	touched uint64 // end of the last byte that a DMA moves
	read    bool   // read before it is written
	written bool
	reached bool   // whether first is set
	first   access // first read
	last    access // last write
}

// readBareChain makes a program from text, a bare chain of descriptors. It derives the memory and the
// ports of the program from the descriptors.
func (o *Options) readBareChain(name string, text []byte) (*Program, error) {
	return o.completeFromChain(&Program{Name: name, Text: text})
}

// readBareChainInFile reads a bare chain of descriptors but leaves it in its file. If
// descriptors access the memory of the chain, it reads the chain as readBareChain does.
func (o *Options) readBareChainInFile(name string, r io.ReaderAt, size int64) (*Program, error) {
	if p, err := o.completeFromChain(&Program{Name: name, TextFile: &regs.TextFile{R: r, Bytes: uint64(size)}}); !errors.Is(err, errTextMoved) {
		return p, err
	}
	text, err := readExactSize(r, size)
	if err != nil {
		return nil, err
	}
	return o.readBareChain(name, text)
}

// errTextMoved reports that a chain cannot be left in its file, because descriptors access
// its memory.
var errTextMoved = errors.New("cannot leave the descriptors in the file: a DMA accesses their memory")

// completeFromChain completes p, which has only descriptors, and returns it: it derives the memory and the
// ports from the descriptors.
func (o *Options) completeFromChain(p *Program) (*Program, error) {
	p.Form, p.Subtype, p.FirstWords = FormText, SubtypeM1, o.FirstWords
	buffers, err := p.gatherBuffers()
	if p.TextFile != nil && slices.ContainsFunc(buffers, func(b *buffer) bool { return b.bar == regs.BARText && b.touched > 0 }) {
		return nil, errTextMoved
	}
	if err != nil {
		if o.Inspect && p.checkChain() == nil {
			return p, nil // the chain is valid but its memory cannot be laid out
		}
		return nil, err
	}
	if err := o.placeWindows(p, buffers); err != nil {
		return nil, err
	}
	return p, nil
}

// gatherBuffers returns the buffers that the descriptors use, sorted by index.
func (p *Program) gatherBuffers() ([]*buffer, error) {
	var (
		byBAR [len(regs.BARs{})]*buffer
		list  []access
		ops   regs.Operands
	)
	for d, err := range p.States() {
		// If not even the first descriptor can be read, the file is probably not a chain. A later one that
		// cannot is a fault of the chain.
		var broken *regs.StreamError
		if errors.As(err, &broken) && broken.Index == 0 {
			return nil, newNotChainError(err)
		}
		if err != nil {
			return nil, p.wrapStreamError(err)
		}
		if d.Records == 0 {
			return nil, newNoRecordsError(d.Index, d.Offset)
		}
		if d.Index == 0 {
			p.FirstWords = d.Words
		}
		ops.Resolve(&d.Groups)
		list = listAccesses(list, &d.Header, &d.Groups, &ops)
		lanes := uint64(0)
		for i := range list {
			a := &list[i]
			if a.bar < 0 {
				return nil, wrapFormatError(uint64(d.Offset), &regs.BaseError{Unit: a.dmaName(), BAR: -1, What: "the header names no buffer"}, "descriptor %d", d.Index)
			}
			b := byBAR[a.bar]
			if b == nil {
				b = &buffer{bar: a.bar}
				byBAR[a.bar] = b
			}
			b.addAccess(a)
			if a.kernel {
				// The compiler reserves separate space for every lane, even if all of them
				// read one activation table (seen in 7 of 7 constant sections).
				lanes += a.bytes
				b.bytes = max(b.bytes, lanes)
			}
		}
	}
	var out []*buffer
	for _, b := range byBAR {
		if b != nil {
			out = append(out, b)
		}
	}
	return out, nil
}

func (b *buffer) addAccess(a *access) {
	end := a.off + a.bytes
	if !a.on {
		// The surface stays in L2. Its depth stride is the size that the compiler reserved
		// for it in memory.
		b.bytes = max(b.bytes, end, a.off+uint64(max(0, a.surface.DepthStride)))
		return
	}
	b.bytes, b.touched = max(b.bytes, end), max(b.touched, end)
	switch {
	case a.write:
		b.written, b.last = true, *a
	case !b.written:
		b.read = true
		fallthrough
	default:
		if !b.reached {
			b.reached, b.first = true, *a
		}
	}
}

// placeWindows assigns addresses and sizes to the buffers, as o.Windows says or else one after the
// other, and makes the segments and the ports of the program.
func (o *Options) placeWindows(p *Program, buffers []*buffer) error {
	given := make(map[int]Window, len(o.Windows))
	for _, w := range o.Windows {
		if w.BAR < 0 || w.BAR >= len(p.BARs) {
			return newFormatError(0, nil, "window has buffer index %d; want 0 to %d", w.BAR, len(p.BARs)-1)
		}
		given[w.BAR] = w
	}
	var constants *buffer
	// The order is that of the compiler's containers: buffers by index, then the text, then the constants.
	// A bare chain has no addresses, and any others would do.
	at := uint64(ApertureBase)
	for _, b := range buffers {
		switch b.bar {
		case regs.BARText:
			continue
		case regs.BARWeights:
			constants = b
			continue
		}
		w := given[b.bar]
		// A buffer of no bytes gets one page: two segments at one address could not be told apart.
		size, addr := max(b.bytes, w.Bytes, 1), cmp.Or(w.Addr, at)
		if size > maxAddressRange || !isInAperture(addr, size) {
			return newFormatError(0, nil, "buffer %d of %#x bytes at %#x extends past the device address space or exceeds %#x bytes", b.bar, size, addr, uint64(maxAddressRange))
		}
		size = roundUpTo(size, PageSize)
		at = max(at, roundUpTo(addr+size, PageSize))
		p.BARs[b.bar] = addr
		s := Segment{Name: "__FVMLIB", Section: "__const", Addr: addr, Size: size, Prot: ProtRead}
		switch {
		case b.bar == regs.BARScratch || b.touched == 0:
			s.Name, s.Section, s.Prot = "__DATA", "__bss", ProtRead|ProtWrite
		case b.written:
			s.Section, s.Prot = "__data", ProtRead|ProtWrite
		}
		p.Segments = append(p.Segments, s)
	}
	at = cmp.Or(given[regs.BARText].Addr, at)
	size := p.textBytes()
	if !isInAperture(at, size) {
		return newFormatError(0, at, "text address leaves no room for its %#x bytes in the device address space", size)
	}
	p.TextAddr, p.BARs[regs.BARText] = at, at
	p.Segments = append(p.Segments, Segment{Name: "__TEXT", Section: "__text", Addr: at, Size: size, Data: p.Text, Prot: ProtRead | ProtExec, Unmade: p.TextFile != nil})
	at += size

	w := given[regs.BARWeights]
	// The compiler reserves constants even for a program that reads none.
	size = unreadConstants
	if constants != nil {
		size = roundUpTo(constants.bytes, TileSize)
	}
	size = max(size, w.Bytes)
	at = cmp.Or(w.Addr, roundUpTo(at, TileSize))
	if size > maxAddressRange || !isInAperture(at, size) {
		return newFormatError(0, nil, "constants of %#x bytes at %#x extend past the device address space or exceed %#x bytes", size, at, uint64(maxAddressRange))
	}
	p.BARs[regs.BARWeights] = at
	p.Segments = append(p.Segments, Segment{Name: "__TEXT", Section: "__const", Addr: at, Size: size, Prot: ProtRead})
	p.makeTextPorts(buffers)
	return nil
}

func roundUpTo(n, unit uint64) uint64 { return (n + unit - 1) &^ (unit - 1) }

// makeTextPorts makes the ports of a bare chain of descriptors. A buffer that is read
// before it is written becomes an input, and one that is written an output. Weights become
// an input with that name.
func (p *Program) makeTextPorts(buffers []*buffer) {
	for _, b := range buffers {
		name := fmt.Sprintf("b%d", b.bar)
		switch b.bar {
		case regs.BARText, regs.BARScratch:
			continue
		case regs.BARWeights:
			name = "weights"
		}
		if b.read {
			p.Ports = append(p.Ports, p.newTextPort(name, Input, b, &b.first))
		}
		if b.written {
			p.Ports = append(p.Ports, p.newTextPort(name, Output, b, &b.last))
		}
	}
	// Weights come last among the inputs.
	slices.SortStableFunc(p.Ports, func(a, b Port) int {
		if a.Direction != b.Direction {
			return cmp.Compare(a.Direction, b.Direction)
		}
		return cmp.Compare(portSortKey(a.BAR), portSortKey(b.BAR))
	})
}

func portSortKey(bar int) int {
	if bar == regs.BARWeights {
		return len(regs.BARs{})
	}
	return bar
}

func (p *Program) newTextPort(name string, d Direction, b *buffer, a *access) Port {
	port := Port{Name: name, Direction: d, Type: Float16(), Address: p.BARs[b.bar], BAR: b.bar}
	if b.bar == regs.BARWeights || a.kernel {
		port.Bytes = roundUpTo(b.touched, TileSize)
		port.setFlatShape()
		return port
	}
	room := roundUpTo(max(b.bytes, 1), PageSize)
	port.Shape, port.Strides = deriveWholeTensor(&a.surface)
	port.Bytes = max(b.touched, uint64(port.Shape[0])*port.Strides[0], port.spanBytes())
	if slices.Min(port.Shape[:]) < 1 || port.Bytes > room || a.surface.Element == 1 {
		// The strides do not form a tensor, or elements have 8 bits: use the bytes as they
		// are.
		port.Bytes = min(max(b.touched, elementBytes), room)
		port.setFlatShape()
	}
	return port
}

// deriveWholeTensor returns the shape (N, C, H, W) and the strides in bytes of the tensor that
// contains surface s. A task may access only some channels and rows of the tensor, so the numbers
// of channels and rows are derived from the strides if possible.
func deriveWholeTensor(s *regs.Surface) ([4]int, [4]uint64) {
	row, plane, depth, group := uint64(max(0, s.Row)), uint64(max(0, s.Plane)), uint64(max(0, s.DepthStride)), uint64(max(0, s.Group))
	split := s.Groups > 1 && group < depth // the groups are inside one batch element
	switch {
	case s.Transposed && split && s.Width == 1 && s.Height == 1:
		return [4]int{1, 1, s.Groups, s.Channels}, [4]uint64{depth, depth, group, elementBytes}
	case s.Transposed:
		// Element (c, x) is at x*plane + 2c, so the rows consist of channels.
		return [4]int{s.Groups, s.Height, s.Width, s.Channels}, [4]uint64{depth, row, plane, elementBytes}
	case s.Planes() > 1 && s.Channels == 1:
		// A reduction over all axes stores channels as rows and rows as depth (seen in
		// files).
		return [4]int{s.Groups, s.Height, s.Planes(), s.Width}, [4]uint64{group, row, depth, elementBytes}
	case s.Channels == 1 && s.Height > 1 && plane == row:
		// A reduction over the channels of one pixel stores them as rows (seen in files).
		return [4]int{s.Groups, s.Height, 1, s.Width}, [4]uint64{depth, row, row, elementBytes}
	case s.Height == 1 && split && group < row:
		// A reduction over rows stores each row as a group (seen in files).
		return [4]int{1, s.Channels, s.Groups, s.Width}, [4]uint64{depth, plane, group, elementBytes}
	case s.Height == 1 && row == depth && plane < row && s.Channels > 1:
		// The rows of a matrix are the descriptor's channels.
		return [4]int{s.Groups, 1, s.Channels, s.Width}, [4]uint64{depth, row, plane, elementBytes}
	}
	n, c := s.Groups, s.Channels
	if split {
		n, c = 1, n*c
	}
	h := s.Height
	// The stride of the next outer axis says how long an axis of the whole tensor is.
	outer := depth
	if h > 1 && row > plane && depth%row == 0 {
		// Rows lie outside the channels, as where a softmax over h takes rows as channels.
		h, outer = max(h, int(min(depth/row, maxExtent))), row
	}
	if plane > 0 && outer%plane == 0 {
		c = max(c, int(min(outer/plane, maxExtent)))
	}
	if row > 0 && plane%row == 0 && s.Base == 0 {
		h = max(h, int(min(plane/row, maxExtent)))
	}
	if depth == 0 {
		depth = plane * uint64(c)
	}
	return [4]int{n, c, h, s.Width}, [4]uint64{depth, plane, row, elementBytes}
}
