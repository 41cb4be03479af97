package loader

import (
	"strings"

	"anesim/hw/regs"
)

func (r *reader) decodeSegment(at uint64, b []byte) (Load, error) {
	if len(b) < segmentSize {
		return nil, newShortCommandError(at, b, segmentSize, "segment command")
	}
	s := &SegmentLoad{
		LoadBytes: b, Name: cutAtZero(b[8:24]),
		Addr: le.Uint64(b[24:]), MemSize: le.Uint64(b[32:]),
		Offset: le.Uint64(b[40:]), FileSize: le.Uint64(b[48:]),
		MaxProt: Protection(le.Uint32(b[56:])), Prot: Protection(le.Uint32(b[60:])),
		Flags: SegmentFlags(le.Uint32(b[68:])),
	}
	// The number of sections is the file's word: their bytes must be there before any is made.
	n := uint64(le.Uint32(b[64:]))
	if n > uint64(len(b)-segmentSize)/sectionSize {
		return nil, newFormatError(at+64, n, "section count of segment %s is too large for its command of %#x bytes", s.Name, len(b))
	}
	if !isInAperture(s.Addr, s.MemSize) {
		return nil, newFormatError(at+24, s.Addr, "address of segment %s leaves no room for %#x bytes in the %d-bit device address space", s.Name, s.MemSize, regs.AddressBits)
	}
	// An offset and a size of 64 bits may wrap around when added, so one is taken from the other.
	size := r.file.totalBytes()
	if s.Offset > size || s.FileSize > size-s.Offset {
		return nil, newFormatError(at+40, s.Offset, "offset of segment %s leaves no room for %#x bytes in the file (%#x bytes)", s.Name, s.FileSize, size)
	}
	if s.FileSize > s.MemSize {
		return nil, newFormatError(at+48, s.FileSize, "memory size %#x of segment %s is less than its file size", s.MemSize, s.Name)
	}
	for i := range n {
		sec, err := r.decodeSection(at+segmentSize+sectionSize*i, b[segmentSize+sectionSize*i:][:sectionSize], s)
		if err != nil {
			return nil, err
		}
		s.Sections = append(s.Sections, sec)
	}
	// The sections have claimed the bytes of a segment that has any. Others hold their bytes
	// themselves.
	if n == 0 && s.FileSize > 0 {
		var err error
		if s.Data, err = r.claimBytes(at+40, s.Offset, s.FileSize, "segment "+s.Name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// isInAperture reports whether the n bytes at addr are inside the device address space.
func isInAperture(addr, n uint64) bool {
	const top = 1 << regs.AddressBits
	return addr <= top && n <= top-addr
}

func (r *reader) decodeSection(at uint64, b []byte, s *SegmentLoad) (*SectionHeader, error) {
	h := &SectionHeader{
		Name: cutAtZero(b[:16]), Segment: cutAtZero(b[16:32]),
		Addr: le.Uint64(b[32:]), Size: le.Uint64(b[40:]),
		Offset: le.Uint32(b[48:]), Align: le.Uint32(b[52:]),
		RelocOffset: le.Uint32(b[56:]), Flags: SectionFlags(le.Uint32(b[64:])),
	}
	if h.Addr < s.Addr || h.Addr-s.Addr > s.MemSize || h.Size > s.MemSize-(h.Addr-s.Addr) {
		return nil, newFormatError(at+32, h.Addr, "address of section %s,%s puts its %#x bytes outside its segment (%#x bytes at %#x)",
			h.Segment, h.Name, h.Size, s.MemSize, s.Addr)
	}
	if err := h.checkSizeAndAlignment(at); err != nil {
		return nil, err
	}
	// A window has no bytes in the file, so the file range of its segment is empty.
	if s.FileSize > 0 {
		off := uint64(h.Offset)
		if off < s.Offset || off-s.Offset > s.FileSize || h.Size > s.FileSize-(off-s.Offset) {
			return nil, newFormatError(at+48, h.Offset, "offset of section %s,%s puts its data outside its segment (%#x bytes at file offset %#x)",
				h.Segment, h.Name, s.FileSize, s.Offset)
		}
		var err error
		if h.Data, err = r.claimBytes(at+48, off, h.Size, "section "+h.Segment+","+h.Name); err != nil {
			return nil, err
		}
	}
	if n := uint64(le.Uint32(b[60:])); n > 0 {
		pairs, err := r.claimBytes(at+56, uint64(h.RelocOffset), n*relocSize, "relocations of "+h.Segment+","+h.Name)
		if err != nil {
			return nil, err
		}
		h.Relocs = make([]RelocPair, n)
		for i := range h.Relocs {
			h.Relocs[i] = RelocPair{le.Uint32(pairs[relocSize*i:]), le.Uint32(pairs[relocSize*i+4:])}
		}
	}
	return h, nil
}

// checkSizeAndAlignment returns an error if the alignment or the size of the section is invalid. at
// is the file offset of the section header. Windows are aligned to the page of the address
// translation, and text and weights to 64 bytes (table 23.6; seen in every container). The maximum
// sizes are those of the compiler.
func (h *SectionHeader) checkSizeAndAlignment(at uint64) error {
	granule := uint64(1)
	switch h.Flags & 0xff {
	case sectionInput, sectionOutput:
		granule = PageSize
	case sectionText, sectionConst:
		granule = TileSize
	}
	if h.Addr%granule != 0 {
		return newFormatError(at+32, h.Addr, "address of section %s,%s is not a multiple of %#x", h.Segment, h.Name, granule)
	}
	switch {
	case strings.HasPrefix(h.Segment, "__KERN_") && h.Size > MaxKernelSection:
		return newFormatError(at+40, h.Size, "size of kernel section %s,%s exceeds %#x bytes", h.Segment, h.Name, uint64(MaxKernelSection))
	case h.Segment == "__DATA" && h.Name == "__bss" && h.Size > MaxScratch:
		return newFormatError(at+40, h.Size, "size of scratch section %s,%s exceeds %#x bytes", h.Segment, h.Name, uint64(MaxScratch))
	}
	return nil
}

func (s *SegmentLoad) encodeTo(dst []byte) {
	copy(dst[8:24], s.Name)
	le.PutUint64(dst[24:], s.Addr)
	le.PutUint64(dst[32:], s.MemSize)
	le.PutUint64(dst[40:], s.Offset)
	le.PutUint64(dst[48:], s.FileSize)
	le.PutUint32(dst[56:], uint32(s.MaxProt))
	le.PutUint32(dst[60:], uint32(s.Prot))
	le.PutUint32(dst[64:], uint32(len(s.Sections)))
	le.PutUint32(dst[68:], uint32(s.Flags))
	for i, h := range s.Sections {
		h.encodeTo(dst[segmentSize+sectionSize*i:])
	}
}

func (h *SectionHeader) encodeTo(dst []byte) {
	copy(dst[:16], h.Name)
	copy(dst[16:32], h.Segment)
	le.PutUint64(dst[32:], h.Addr)
	le.PutUint64(dst[40:], h.Size)
	le.PutUint32(dst[48:], h.Offset)
	le.PutUint32(dst[52:], h.Align)
	le.PutUint32(dst[56:], h.RelocOffset)
	le.PutUint32(dst[60:], uint32(len(h.Relocs)))
	le.PutUint32(dst[64:], uint32(h.Flags))
}
