package loader

import (
	"fmt"
	"slices"
	"strings"

	"anesim/hw/regs"
)

// The Linux driver's form (.anec) is a header with sizes and shapes, followed by the chain
// and the weights. It names memory by channel: 0 is the chain, 1 the weights, 2 and 3 are
// scratch memory, then come the destinations, then the sources. A channel's number is the
// buffer index that descriptors use.
//
//	0x000  size u64, td_size u32, td_count u32, tsk_size u64, krn_size u64,
//	       src_count u32, dst_count u32
//	0x028  tiles[32] u32: the channel's size in pages of 0x4000
//	0x0a8  nchw[32][6] u64: N, C, H, W, plane stride, row stride
//	0x800  the chain; weights at the next multiple of 16 (0x1000 in some files)
const (
	anecHeader      = 0x800
	anecHeaderWide  = 0x1000
	anecTiles       = 0x28
	anecShapes      = 0xa8
	anecShape       = 48 // bytes a channel
	anecChannels    = 32
	anecFirstTensor = 4 // the first channel of a tensor
	anecTensors     = anecChannels - anecFirstTensor
	anecAlign       = 16
)

// An anec holds the header fields of a file in the form that the Linux driver loads.
type anec struct {
	size, task, kernel uint64
	firstSize, count   uint32
	sources, results   int
}

// readANECHeader parses the header of a file in the Linux driver's form, given the first
// bytes of the file and its size. The form has no magic number. readANECHeader returns
// false if head is too short or the sizes in the header contradict each other.
func readANECHeader(head []byte, size int64) (h anec, ok bool) {
	if len(head) < anecHeader {
		return h, false
	}
	sources, results := le.Uint32(head[32:]), le.Uint32(head[36:])
	h = anec{
		size: le.Uint64(head), firstSize: le.Uint32(head[8:]), count: le.Uint32(head[12:]),
		task: le.Uint64(head[16:]), kernel: le.Uint64(head[24:]),
	}
	if sources == 0 || results == 0 || uint64(sources)+uint64(results) > anecTensors {
		return h, false
	}
	h.sources, h.results = int(sources), int(results)
	room := uint64(size)
	return h, h.size <= room && h.task >= regs.HeaderBytes && h.task <= h.size && h.kernel <= h.size &&
		h.firstSize > 0 && uint64(h.firstSize) <= h.task && h.count > 0 && uint64(h.count) <= h.task
}

// readANEC reads a program in the Linux driver's form. It places the scratch memory, the
// outputs, the inputs, the descriptors and the weights in this order from ApertureBase on.
func readANEC(name string, file []byte, h anec) (*Program, error) {
	p := &Program{Name: name, Form: FormANEC, Subtype: SubtypeM1, TaskCount: int(h.count), file: file}
	weights, err := p.splitANECText(file, h)
	if err != nil {
		return nil, err
	}
	at := uint64(ApertureBase)
	window := func(channel int, section string, prot Protection, segment string) (Segment, error) {
		pages := uint64(le.Uint32(file[anecTiles+4*channel:]))
		s := Segment{Name: segment, Section: section, Addr: at, Size: pages * PageSize, Prot: prot}
		if s.Size > MaxScratch {
			return s, newFormatError(uint64(anecTiles+4*channel), pages, "page count of channel %d exceeds %#x", channel, uint64(MaxScratch/PageSize))
		}
		at += s.Size
		p.BARs[channel] = s.Addr
		p.Segments = append(p.Segments, s)
		return s, nil
	}
	for _, channel := range [...]int{2, 3} { // scratch
		if le.Uint32(file[anecTiles+4*channel:]) == 0 {
			continue
		}
		if _, err := window(channel, "__bss", ProtRead|ProtWrite, "__DATA"); err != nil {
			return nil, err
		}
	}
	for i := range h.results + h.sources {
		channel := anecFirstTensor + i
		port := Port{Name: fmt.Sprintf("dst%d", i), Direction: Output, Type: Float16(), BAR: channel}
		section, prot := "__data", ProtRead|ProtWrite
		if i >= h.results {
			port.Name, port.Direction = fmt.Sprintf("src%d", i-h.results), Input
			section, prot = "__const", ProtRead
		}
		s, err := window(channel, section, prot, "__FVMLIB")
		if err != nil {
			return nil, err
		}
		port.Address, port.Bytes = s.Addr, s.Size
		if err := port.readANECShape(file, channel); err != nil {
			return nil, err
		}
		p.Ports = append(p.Ports, port)
	}
	// Like in a container, inputs come first.
	p.Ports = append(p.Ports[h.results:len(p.Ports):len(p.Ports)], p.Ports[:h.results]...)
	p.TextAddr, p.BARs[regs.BARText] = at, at
	p.Segments = append(p.Segments, Segment{Name: "__TEXT", Section: "__text", Addr: at, Size: uint64(len(p.Text)), Data: p.Text, Prot: ProtRead | ProtExec})
	if len(weights) > 0 {
		at = roundUpTo(at+uint64(len(p.Text)), TileSize)
		p.BARs[regs.BARWeights] = at
		p.Segments = append(p.Segments, Segment{Name: "__TEXT", Section: "__const", Addr: at, Size: uint64(len(weights)), Data: weights, Prot: ProtRead})
	}
	return p, nil
}

// splitANECText sets the descriptors of the program and returns the weights. The header has
// 0x800 or 0x1000 bytes, and it gives the size of the first descriptor in bytes or in
// words; splitANECText uses the first combination that gives a valid chain.
func (p *Program) splitANECText(file []byte, h anec) (weights []byte, err error) {
	var first error
	for _, header := range [...]uint64{anecHeader, anecHeaderWide} {
		at := roundUpTo(header+h.task, anecAlign)
		if at > uint64(len(file)) || h.kernel > uint64(len(file))-at {
			continue
		}
		p.Text, p.textOff = file[header:header+h.task:header+h.task], header
		sizes := []uint32{h.firstSize}
		if h.firstSize%4 == 0 {
			// Bytes come first: read as words, the same number would make the following descriptors a part
			// of the first.
			sizes = []uint32{h.firstSize / 4, h.firstSize}
		}
		for _, words := range sizes {
			if words < regs.HeaderWords || words > maxWords {
				continue
			}
			p.FirstWords = int(words)
			if err := p.checkChain(); err != nil {
				// The first reading is the most likely one, so its error says most about a damaged file.
				if first == nil {
					first = err
				}
				continue
			}
			return file[at : at+h.kernel : at+h.kernel], nil
		}
	}
	if first == nil {
		first = newFormatError(8, h.firstSize, "declared size of the first descriptor gives no valid chain of %#x bytes", h.task)
	}
	return nil, first
}

// readANECShape sets the shape and the strides of the port from the entry for a channel in the
// header of file. The Linux driver's form calls a buffer a channel.
func (p *Port) readANECShape(file []byte, channel int) error {
	at := anecShapes + anecShape*channel
	var v [6]uint64
	for i := range v {
		v[i] = le.Uint64(file[at+8*i:])
	}
	for i, n := range v[:4] {
		if n == 0 || n > maxExtent {
			return newFormatError(uint64(at+8*i), n, "size of axis %c of channel %d is not between 1 and %#x", axes[i], channel, maxExtent)
		}
		p.Shape[i] = int(n)
	}
	for i, n := range v[4:] {
		if n>>regs.AddressBits != 0 {
			return newFormatError(uint64(at+32+8*i), n, "stride of channel %d exceeds %d bits", channel, regs.AddressBits)
		}
	}
	p.Strides = [4]uint64{v[4] * v[1], v[4], v[5], elementBytes}
	if n := p.spanBytes(); v[4] > p.Bytes || n > p.Bytes {
		return newFormatError(uint64(at), max(n, v[4]), "size of shape %v with plane stride %#x exceeds the %#x bytes of channel %d", p.Shape, v[4], p.Bytes, channel)
	}
	return nil
}

// ANEC returns the program in the .anec file format, which the Linux driver loads. The format
// numbers buffers in its own way, so ANEC changes the buffer numbers in the headers of the
// descriptors. It returns an *[UnsupportedError] if the format cannot hold the program.
func (p *Program) ANEC() ([]byte, error) {
	if p.Form == FormRegisters || p.Subtype != SubtypeM1 {
		return nil, &UnsupportedError{string(p.Form), "not supported by the Linux driver's format, which holds only version 7 descriptors"}
	}
	if p.TextFile != nil {
		return nil, errTextNotRead
	}
	if w := p.WeightsBAR(); w != regs.BARWeights {
		return nil, &UnsupportedError{string(p.Form), fmt.Sprintf("weights have buffer %d of their own; the Linux driver's format has them in buffer %d", w, regs.BARWeights)}
	}
	ports, to, err := p.listANECPorts()
	if err != nil {
		return nil, err
	}
	text, err := p.renumberBuffers(to)
	if err != nil {
		return nil, err
	}
	weights := p.bufferData(regs.BARWeights)
	data := roundUpTo(uint64(anecHeader+len(text)), anecAlign)
	out := make([]byte, data+uint64(len(weights)))
	copy(out[anecHeader:], text)
	copy(out[data:], weights)
	le.PutUint64(out, uint64(len(out)-anecHeader))
	le.PutUint32(out[8:], uint32(4*p.FirstWords))
	n := 0
	for _, err := range p.Descriptors() {
		if err != nil {
			return nil, p.wrapStreamError(err)
		}
		n++
	}
	le.PutUint32(out[12:], uint32(n))
	le.PutUint64(out[16:], uint64(len(text)))
	le.PutUint64(out[24:], uint64(len(weights)))
	pages := func(channel int, bytes uint64) {
		le.PutUint32(out[anecTiles+4*channel:], uint32(roundUpTo(bytes, PageSize)/PageSize))
	}
	pages(0, uint64(len(text)))
	pages(1, uint64(len(weights)))
	for _, channel := range [...]int{2, 3} { // scratch
		if s := p.segmentContaining(p.BARs[channel]); p.BARs[channel] != 0 && s != nil {
			pages(channel, s.End()-p.BARs[channel])
		}
	}
	for i, q := range ports {
		if q.Direction == Output {
			le.PutUint32(out[36:], uint32(i+1))
		} else {
			le.PutUint32(out[32:], le.Uint32(out[32:])+1)
		}
		pages(anecFirstTensor+i, max(q.Bytes, q.spanBytes()))
		at := anecShapes + anecShape*(anecFirstTensor+i)
		for j, e := range q.Shape {
			le.PutUint64(out[at+8*j:], uint64(e))
		}
		le.PutUint64(out[at+32:], q.Strides[1])
		le.PutUint64(out[at+40:], q.Strides[2])
	}
	return out, nil
}

// listANECPorts returns the outputs followed by the inputs. The map to holds, for each port's
// buffer, its number in the Linux driver's form. The error is an *[UnsupportedError] if that form
// cannot hold the ports.
func (p *Program) listANECPorts() (ports []*Port, to map[uint32]uint32, err error) {
	for _, d := range [...]Direction{Output, Input} {
		for q := range p.portsInDirection(d) {
			if q.BAR == regs.BARWeights {
				return nil, nil, &UnsupportedError{string(p.Form), "weights are missing from the file; the Linux driver's format requires them"}
			}
			if q.BAR < 0 {
				return nil, nil, &UnsupportedError{"port " + q.Name, "no buffer has the port's address"}
			}
			ports = append(ports, q)
		}
	}
	if len(ports) == 0 || len(ports) > anecTensors {
		return nil, nil, &UnsupportedError{string(p.Form), fmt.Sprintf("program has %d ports; want 1 to %d for the Linux driver's format", len(ports), anecTensors)}
	}
	to = make(map[uint32]uint32)
	for i, q := range ports {
		if _, twice := to[uint32(q.BAR)]; twice {
			return nil, nil, &UnsupportedError{"port " + q.Name, "shares its buffer with another port"}
		}
		to[uint32(q.BAR)] = uint32(anecFirstTensor + i)
	}
	return ports, to, nil
}

// bufferData returns the bytes from the start of buffer bar to the end of its segment, followed by
// the further sections of weights, with zeros between them. It returns nil if the program has no
// such buffer or the segment has no data.
func (p *Program) bufferData(bar int) []byte {
	s := p.segmentContaining(p.BARs[bar])
	if s == nil || s.Data == nil || p.BARs[bar] == 0 {
		return nil
	}
	data := s.Data[min(uint64(len(s.Data)), p.BARs[bar]-s.Addr):]
	for _, offset := range p.findWeightSections() {
		t := p.segmentContaining(p.BARs[bar] + uint64(offset))
		data = append(slices.Clip(data), make([]byte, max(0, offset-len(data)))...)
		data = append(data[:offset], t.Data...)
	}
	return data
}

// findWeightSections returns the offsets from the buffer of weights at which its sections after the first
// begin, which are in segments __KERN_1 and up and follow it page by page.
func (p *Program) findWeightSections() (starts []int) {
	begin := p.BARs[p.WeightsBAR()]
	first := p.segmentContaining(begin)
	if first == nil || !strings.HasPrefix(first.Name, "__KERN_") {
		return nil
	}
	for end := first.End(); ; {
		t := p.segmentContaining(roundUpTo(end, PageSize))
		if t == nil || !strings.HasPrefix(t.Name, "__KERN_") || t.Addr != roundUpTo(end, PageSize) {
			return starts
		}
		starts = append(starts, int(t.Addr-begin))
		end = t.End()
	}
}

// segmentContaining returns the segment that contains addr, or nil if there is none.
func (p *Program) segmentContaining(addr uint64) *Segment {
	for i := range p.Segments {
		if s := &p.Segments[i]; addr >= s.Addr && addr-s.Addr < s.Size {
			return s
		}
	}
	return nil
}

// renumberBuffers returns a copy of the descriptors in which the headers refer to buffer to[n]
// instead of buffer n. A buffer without an entry in the map keeps its number.
func (p *Program) renumberBuffers(to map[uint32]uint32) ([]byte, error) {
	text := append([]byte(nil), p.Text...)
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, p.wrapStreamError(err)
		}
		b := d.Header.Bases
		if n, ok := to[b.RBase0()]; ok && b.RBE0() {
			b = b.WithRBase0(n)
		}
		if n, ok := to[b.RBase1()]; ok && b.RBE1() {
			b = b.WithRBase1(n)
		}
		if n, ok := to[b.WBase()]; ok && b.WBE() {
			b = b.WithWBase(n)
		}
		k := d.Header.KernelBases
		if n, ok := to[k.KBase0()]; ok && k.KBE0() {
			k = k.WithKBase0(n)
		}
		le.PutUint32(text[d.Offset+4*8:], uint32(b))
		le.PutUint32(text[d.Offset+4*9:], uint32(k))
	}
	return text, nil
}
