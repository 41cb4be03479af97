package unguided

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// maxBytes bounds what a mutation makes of a text or file: a seed that is longer keeps its
// length.
const maxBytes = 1 << 16

// mutator changes inputs.
type mutator struct {
	*rand.Rand
	values []any
}

// mutate gives an input beside the seed: one of its arguments is changed, or each with a
// chance. other is a seed of the same target. The result holds until the next call.
func (m *mutator) mutate(seed, other []any) []any {
	m.values = append(m.values[:0], seed...)
	must := m.IntN(len(seed))
	for i, v := range seed {
		if i == must || m.IntN(4) == 0 {
			m.values[i] = m.value(v, other[i])
		}
	}
	return m.values
}

func (m *mutator) value(v, other any) any {
	switch v := v.(type) {
	case []byte:
		return m.bytes(v, other.([]byte))
	case string:
		return string(m.bytes([]byte(v), []byte(other.(string))))
	case bool:
		return !v
	case byte:
		return byte(m.number(uint64(v)))
	case uint16:
		return uint16(m.number(uint64(v)))
	case uint32:
		return uint32(m.number(uint64(v)))
	case uint64:
		return m.number(v)
	case int:
		return int(m.number(uint64(v)))
	case float32:
		return math.Float32frombits(uint32(m.number(uint64(math.Float32bits(v)))))
	}
	panic(fmt.Sprintf("no mutation of a %T", v))
}

// edges are where sizes, offsets and signs turn.
var edges = [...]uint64{0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 1 << 10, 1 << 14, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1 << 16,
	1 << 20, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}

func (m *mutator) number(v uint64) uint64 {
	switch m.IntN(5) {
	case 0:
		return edges[m.IntN(len(edges))]
	case 1:
		return v ^ 1<<m.IntN(64)
	case 2:
		return v + m.Uint64N(64) - 32
	case 3:
		return v ^ m.Uint64()>>m.IntN(64)
	default:
		return -v
	}
}

// words are what texts are made of here, where a byte at a time hardly ever comes upon one.
var words = [...]string{"0", "-1", "1e9", "99999999999999999999", "0x", "=", "=0", ",", "..", "/", "+", ":", "\n", "\n  ", "- ", " #", "\"", "''", "{", "}", "[", "]",
	"(", ")", "<", ">", "\\", "\x00", "\xff", "\u2028", "nan", "inf", "true", "null", "&a", "*a", "x", " "}

// bytes changes one to eight places of a text or file.
func (m *mutator) bytes(v, other []byte) []byte {
	b := append(make([]byte, 0, len(v)+64), v...)
	for n := 1 << m.IntN(4); n > 0; n-- {
		b = m.change(b, other)
	}
	return b
}

func (m *mutator) change(b, other []byte) []byte {
	at := m.IntN(len(b) + 1)
	rest := len(b) - at
	room := maxBytes - len(b)
	if len(b) > 1<<12 && m.IntN(2) == 0 {
		at = m.IntN(1 << 12) // headers stand in front, and much of the rest is padding
		rest = len(b) - at
	}
	switch m.IntN(14) {
	case 0: // a bit
		if rest > 0 {
			b[at] ^= 1 << m.IntN(8)
		}
	case 1: // a byte
		if rest > 0 {
			b[at] = byte(m.Uint32())
		}
	case 2, 3: // a word at a place of its own, as headers and registers have them
		if at &^= 3; at+4 <= len(b) {
			w := b[at:]
			binary.LittleEndian.PutUint32(w, uint32(m.number(uint64(binary.LittleEndian.Uint32(w)))))
		}
	case 4:
		if at &^= 7; at+8 <= len(b) {
			w := b[at:]
			binary.LittleEndian.PutUint64(w, m.number(binary.LittleEndian.Uint64(w)))
		}
	case 5: // another order of bytes, as in the fields of protocols
		if rest >= 2 {
			binary.BigEndian.PutUint16(b[at:], uint16(m.number(uint64(binary.BigEndian.Uint16(b[at:])))))
		}
	case 6: // a run is left out
		b = slices.Delete(b, at, at+m.run(rest))
	case 7: // a run again
		if n := m.run(min(rest, room)); n > 0 {
			b = slices.Insert(b, at+n, b[at:at+n]...)
		}
	case 8: // a run from elsewhere in it
		if len(b) > 0 {
			from := m.IntN(len(b))
			copy(b[at:], b[from:from+m.run(len(b)-from)])
		}
	case 9: // a run of another seed
		if len(other) > 0 {
			from := m.IntN(len(other))
			n := m.run(min(len(other)-from, room))
			b = slices.Insert(b, at, other[from:from+n]...)
		}
	case 10: // the end
		if m.IntN(4) == 0 {
			b = b[:at]
		}
	case 11: // a word of texts
		if w := words[m.IntN(len(words))]; room > len(w) {
			b = slices.Insert(b, at, []byte(w)...)
		}
	case 12: // a digit in the place of a digit
		for i := at; i < min(len(b), at+64); i++ {
			if b[i] >= '0' && b[i] <= '9' {
				b[i] = '0' + byte(m.IntN(10))
				break
			}
		}
	case 13: // bytes of one kind
		if n := m.run(min(64, rest)); n > 0 {
			c := byte(m.Uint32())
			for i := range n {
				b[at+i] = c
			}
		}
	}
	return b
}

// run is the length of a run of at most n: short ones more often than long ones.
func (m *mutator) run(n int) int {
	if n <= 0 {
		return 0
	}
	return 1 + m.IntN(min(n, 1<<m.IntN(12)))
}
