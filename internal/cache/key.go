package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// A Hash is a double SHA-256 digest: the SHA-256 digest of the SHA-256 digest of some data.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// A Hasher computes the [Hash] of the bytes that are written to it.
type Hasher struct{ inner hash.Hash }

// NewHasher returns a Hasher for an empty sequence of bytes.
func NewHasher() *Hasher { return &Hasher{sha256.New()} }

// Write adds p to the bytes to be hashed. It returns len(p) and a nil error.
func (h *Hasher) Write(p []byte) (int, error) { return h.inner.Write(p) }

// Sum returns the [Hash] of all bytes written so far. More bytes may be written afterwards.
func (h *Hasher) Sum() Hash { return sha256.Sum256(h.inner.Sum(nil)) }

// Sum returns the [Hash] of data.
func Sum(data []byte) Hash {
	first := sha256.Sum256(data)
	return sha256.Sum256(first[:])
}

// A Segment identifies a part of a network that runs on the engine as one program. It holds the
// hashes of the part's structure and weights.
type Segment struct{ Structure, Weights Hash }

// A Key identifies a compilation. Two compilations with equal keys have the same result.
type Key struct {
	Segments []Segment
	Source   string // resolved URL of the source, "" to identify by content only
	Options  string
	Platform string
}

// Identifier returns a hash of all fields of k. The length of each field is hashed too, so that
// different keys never hash the same bytes.
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
