package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// A Hash is a double SHA-256: the SHA-256 of a SHA-256.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// A Hasher takes bytes to hash.
type Hasher struct{ inner hash.Hash }

// NewHasher returns a Hasher of nothing so far.
func NewHasher() *Hasher { return &Hasher{sha256.New()} }

// Write adds bytes. It never fails.
func (h *Hasher) Write(p []byte) (int, error) { return h.inner.Write(p) }

// Sum is the hash of what was written.
func (h *Hasher) Sum() Hash { return sha256.Sum256(h.inner.Sum(nil)) }

// Sum is the double SHA-256 of data.
func Sum(data []byte) Hash {
	first := sha256.Sum256(data)
	return sha256.Sum256(first[:])
}

// A Segment is a part of a network that the engine runs by itself: the hashes of its
// structure and of its weights.
type Segment struct{ Structure, Weights Hash }

// A Key is what an entry is found by. Two compiles with equal keys have the same result.
type Key struct {
	Segments []Segment
	Source   string // resolved URL of the source; empty leaves the content alone
	Options  string
	Platform string
}

// Identifier is the entry's: the double SHA-256 of the key's parts, each behind its length.
func (k *Key) Identifier() Hash {
	h := NewHasher()
	part := func(p []byte) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	part([]byte("anesim program cache 1"))
	part(binary.LittleEndian.AppendUint64(nil, uint64(len(k.Segments))))
	for i := range k.Segments {
		s := &k.Segments[i]
		pair := Sum(append(append([]byte(nil), s.Structure[:]...), s.Weights[:]...))
		part(pair[:])
	}
	part([]byte(k.Source))
	part([]byte(k.Options))
	part([]byte(k.Platform))
	return h.Sum()
}
