package loader

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/hw/regs"
	"anesim/internal/enums"
)

// A Symbol is one entry of a container's symbol table.
type Symbol struct {
	Name    string
	Type    SymbolType
	Section uint8  // ordinal of its section from 1, 0 for none
	Desc    uint16 // for a tile, 2 if live and 0 if sentinel; for a shape, its type number
	Value   uint64 // device address

	index uint32 // offset of the name in the string table
}

// A Tile describes the weights that one MAC engine reads for one descriptor, or the weights that
// all engines share.
type Tile struct {
	Digest string // SHA-256 of the weights in hexadecimal
	Lane   int    // engine, -1 for a tile that all engines share
	Addr   uint64 // device address; the section's end for a sentinel
	Live   bool   // false for the empty tile of an unused lane
}

// An ElementType is the type of the elements of a tensor. Known codes are 2 for int8, 3 for uint8,
// 5 for float16, 16 for e4m3 and 23 for int4.
type ElementType struct {
	Code  int
	Name  string
	Range string // as written in the catalog: r<kind>;<low>;<high>
}

// String returns the name of the type in the container. If that is empty, it returns the usual name
// for the code of the type.
func (t ElementType) String() string {
	if t.Name != "" {
		return escapeUnprintable(t.Name)
	}
	return enums.CatalogueType(t.Code).String()
}

// Bits returns the size of an element in bits, or 0 if the type is unknown.
func (t ElementType) Bits() int {
	switch t.Name {
	case "int8", "uint8", "e4m3":
		return 8
	case "int16", "uint16", "float16":
		return 16
	case "float", "int32", "uint32":
		return 32
	case "int4", "uint4":
		return 4
	}
	return 0
}

// elementBytes returns the number of whole bytes in an element. It returns 1 for smaller elements
// and for a type of unknown size.
func (t ElementType) elementBytes() uint64 { return uint64(max(1, t.Bits()/8)) }

// Float16 returns the element type fp16.
func Float16() ElementType { return ElementType{5, "float16", "r1;2;0"} }

// A Shape holds the extents and strides of a tensor, decoded from a symbol of the container.
type Shape struct {
	Name    string
	Extents [4]int    // N, C, H, W
	Strides [4]uint64 // bytes
	Type    int       // code of the element type
}

// axes holds the letters of the axes in the order of Port.Shape.
const axes = "nchw"

// maxExtent is the maximum extent of a tensor. The channel fields of the registers have 17
// bits.
const maxExtent = 1<<17 - 1

func (r *reader) decodeSymtab(at uint64, b []byte) (Load, error) {
	if len(b) < 24 {
		return nil, newShortCommandError(at, b, 24, "symbol table command")
	}
	t := &symtabLoad{LoadBytes: b, Offset: le.Uint32(b[8:]), StringOffset: le.Uint32(b[16:])}
	n := uint64(le.Uint32(b[12:]))
	entries, err := r.claimBytes(at+8, uint64(t.Offset), n*symbolSize, "symbol table")
	if err != nil {
		return nil, err
	}
	if t.Strings, err = r.claimBytes(at+16, uint64(t.StringOffset), uint64(le.Uint32(b[20:])), "string table"); err != nil {
		return nil, err
	}
	// The names share one string, so a hostile table cannot make them use more memory than
	// the file.
	text := string(t.Strings)
	t.Symbols = make([]Symbol, n)
	for i := range t.Symbols {
		e := entries[symbolSize*i:]
		s := Symbol{index: le.Uint32(e), Type: SymbolType(e[4]), Section: e[5], Desc: le.Uint16(e[6:]), Value: le.Uint64(e[8:])}
		where := uint64(t.Offset) + symbolSize*uint64(i)
		if uint64(s.index) >= uint64(len(text)) {
			return nil, newFormatError(where, s.index, "name offset of symbol %d is past the end of the string table (%#x bytes)", i, len(text))
		}
		name := text[s.index:min(int(s.index)+maxName, len(text))]
		end := strings.IndexByte(name, 0)
		if end < 0 {
			return nil, newFormatError(where, s.index, "name of symbol %d has no zero byte within %d bytes of string table offset", i, maxName)
		}
		s.Name = name[:end]
		t.Symbols[i] = s
	}
	return t, nil
}

func (t *symtabLoad) encodeTo(dst []byte) {
	le.PutUint32(dst[8:], t.Offset)
	le.PutUint32(dst[12:], uint32(len(t.Symbols)))
	le.PutUint32(dst[16:], t.StringOffset)
	le.PutUint32(dst[20:], uint32(len(t.Strings)))
}

func (s *Symbol) encodeTo(dst []byte) {
	le.PutUint32(dst, s.index)
	dst[4], dst[5] = uint8(s.Type), s.Section
	le.PutUint16(dst[6:], s.Desc)
	le.PutUint64(dst[8:], s.Value)
}

// parseTile parses a symbol of the form K<sha256>_ne_<lane> or K<sha256>.
func (s *Symbol) parseTile() (Tile, bool) {
	const digest = 64
	if s.Type != symbolDefined || len(s.Name) < 1+digest || s.Name[0] != 'K' {
		return Tile{}, false
	}
	t := Tile{Digest: s.Name[1 : 1+digest], Lane: -1, Addr: s.Value, Live: s.Desc != 0}
	if strings.Trim(t.Digest, "0123456789ABCDEFabcdef") != "" {
		return Tile{}, false
	}
	if rest := s.Name[1+digest:]; rest != "" {
		lane, err := strconv.Atoi(strings.TrimPrefix(rest, "_ne_"))
		if err != nil || lane < 0 || lane > 15 {
			return Tile{}, false
		}
		t.Lane = lane
	}
	return t, true
}

// parseElementType parses a catalog entry such as float16:t5=r1;2;0.
func (s *Symbol) parseElementType() (ElementType, bool) {
	name, rest, ok := strings.Cut(s.Name, ":t")
	if !ok || s.Type != symbolElement {
		return ElementType{}, false
	}
	number, span, ok := strings.Cut(rest, "=")
	code, err := strconv.Atoi(number)
	return ElementType{code, name, span}, ok && err == nil && code > 0
}

// parseShape parses a shape symbol, which has an extent and a stride for each axis:
//
//	image:t11=ar1;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:5
func (s *Symbol) parseShape() (Shape, bool) {
	// At the last mark, because the name of a tensor may contain one.
	name, rest, ok := splitAtLastMark(s.Name, ":t", "=")
	if !ok || s.Type != symbolShape {
		return Shape{}, false
	}
	parts := strings.Split(rest, ":")
	if len(parts) != len(axes)+1 {
		return Shape{}, false
	}
	sh := Shape{Name: name}
	for i, p := range parts[:len(axes)] {
		span, stride, ok := strings.Cut(p, "=")
		fields := strings.Split(span, ";")
		if !ok || len(fields) != 4 || fields[0] != "ar1" || fields[1] != "0" {
			return Shape{}, false
		}
		extent, err := strconv.Atoi(fields[2])
		if err != nil || extent < 1 || extent > maxExtent {
			return Shape{}, false
		}
		digits, ok := strings.CutPrefix(stride, "s")
		digits, ok2 := strings.CutSuffix(digits, axes[i:i+1])
		n, err := strconv.ParseUint(digits, 10, regs.AddressBits)
		if !ok || !ok2 || err != nil {
			return Shape{}, false
		}
		sh.Extents[i], sh.Strides[i] = extent, n
	}
	var err error
	sh.Type, err = strconv.Atoi(parts[len(axes)])
	return sh, err == nil && sh.Type >= 0
}

// splitAtLastMark splits text at the last mark before the first end. The text before it, a
// port's name, may contain the mark too. ok is false unless a number follows the mark.
func splitAtLastMark(text, mark, end string) (before, after string, ok bool) {
	head, after, ok := strings.Cut(text, end)
	i := strings.LastIndex(head, mark)
	if !ok || i < 1 {
		return "", "", false
	}
	if _, err := strconv.Atoi(head[i+len(mark):]); err != nil {
		return "", "", false
	}
	return head[:i], after, true
}

// formatSymbol returns the symbol that describes the shape in a container, such as
// "image:t11=ar1;...". number is the type number of the shape; its axes have the next four numbers.
func (s Shape) formatSymbol(number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:t%d=", s.Name, number)
	for i := range axes {
		fmt.Fprintf(&b, "ar1;0;%d;%d=s%d%c:", s.Extents[i], number+1+i, s.Strides[i], axes[i])
	}
	fmt.Fprintf(&b, "%d", s.Type)
	return b.String()
}
