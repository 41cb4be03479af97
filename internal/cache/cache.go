package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A Mode says whether [Cache.Do] may use a stored program, and whether it may compile one.
type Mode uint8

// Modes of a [Cache]. The last two have the names of the vendor's options force_recompilation and
// force_fetch_from_cache.
const (
	FetchOrMake        Mode = iota // uses the stored program, or compiles and stores it
	ForceRecompilation             // compiles even if there is a stored program, and replaces it
	ForceFetch                     // never compiles; a missing program is a *MissError
)

// An Outcome says whether [Cache.Do] found a program in the cache or compiled it.
type Outcome uint8

// Outcomes of [Cache.Do].
const (
	Fetched Outcome = iota // the program was in the cache
	Made                   // compiled: there was no entry, or the mode is ForceRecompilation
	Remade                 // compiled, because the entry was damaged
)

// String returns the name of the outcome, such as "fetched".
func (o Outcome) String() string {
	if names := [...]string{"fetched", "made", "remade"}; int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}

// A Cache is a directory of compiled programs. Several goroutines and processes may use it at once.
type Cache struct {
	Dir    string
	Build  string // identifies the compiler and names its directory below Dir
	Source string // resolved URL of the source, for keys; "" identifies by content only
	// Placement says for which processors the programs are, and how these were chosen, for keys.
	Placement string
	Mode      Mode
}

// Open returns a cache in directory dir, which need not exist yet. Build is set to a hash of the
// running executable, so that entries made by another version of the compiler are not used. Open
// returns an *Error if the executable cannot be read.
func Open(dir string) (*Cache, error) {
	build, err := hashExecutable()
	if err != nil {
		return nil, err
	}
	return &Cache{Dir: dir, Build: build}, nil
}

// hashExecutable returns a hash of the running executable. It reads the file, of tens of megabytes,
// only once in a process.
var hashExecutable = sync.OnceValues(func() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", &Error{"find the executable", name, err}
	}
	f, err := os.Open(name)
	if err != nil {
		return "", &Error{"read the executable", name, err}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", &Error{"read the executable", name, err}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
})

// An Error reports that a file of the cache cannot be read or written, or that the running
// executable cannot be read.
type Error struct {
	Op, Path string
	Err      error
}

func (e *Error) Error() string { return fmt.Sprintf("cache: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause of the error, e.Err.
func (e *Error) Unwrap() error { return e.Err }

// A MissError reports that the cache has no valid entry for a key and that the mode, ForceFetch,
// forbids making one.
type MissError struct {
	Path string
	Why  string // damage found, or ""
}

func (e *MissError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("cache: %s is damaged: %s", e.Path, e.Why)
	}
	return fmt.Sprintf("cache: missing entry %s", e.Path)
}

// An Entry describes the stored program for a key, and how [Cache.Do] obtained it.
type Entry struct {
	Outcome Outcome
	Path    string
	Key     Hash
	Hash    Hash   // hash of the entry, its anehash
	Bytes   int    // size of the file
	Why     string // damage of the entry that was remade, or ""
	Unkept  error  // an *Error if the entry could not be read or stored
}

// Names in the tree. The documents define treeName; bundleName is this package's own.
const (
	treeName   = "com.apple.e5rt.e5bundlecache"
	bundleName = "model.bundle"
)

// Tree returns the directory below c.Dir that holds all entries.
func (c *Cache) Tree() string { return filepath.Join(c.Dir, treeName) }

// Path returns the path of the file that holds the entry for key k, or would hold it if there were
// one.
func (c *Cache) Path(k *Key) string {
	return filepath.Join(c.Tree(), c.Build, k.Identifier().String(), bundleName)
}

// Do obtains the content for key k and passes it to use. It reads the content from the cache if it
// can, and otherwise calls make and stores the result. Stored content counts as missing if it is
// damaged or if use returns an error for it.
//
// In mode ForceRecompilation, Do always calls make. In mode ForceFetch, it never does, and returns
// a *MissError if the content is missing, or an *Error if the file cannot be read. In the other
// modes, Do fails only if make fails or if use returns an error for the content that make returned.
// If the cache cannot be read or written, Do still succeeds in these modes, and stores an *Error in
// Entry.Unkept.
func (c *Cache) Do(k *Key, use func([]byte) error, make func() ([]byte, error)) (Entry, error) {
	id := k.Identifier()
	e := Entry{Outcome: Made, Path: c.Path(k), Key: id}
	if c.Mode != ForceRecompilation {
		data, err := readEntryFile(e.Path, id)
		var damage *FormatError
		switch {
		case errors.As(err, &damage):
			if c.Mode == ForceFetch {
				return e, &MissError{e.Path, err.Error()}
			}
			e.Outcome, e.Why = Remade, err.Error()
		case errors.Is(err, fs.ErrNotExist):
			if c.Mode == ForceFetch {
				return e, &MissError{Path: e.Path}
			}
		case err != nil:
			e.Unkept = &Error{"read an entry", e.Path, err}
			if c.Mode == ForceFetch {
				return e, e.Unkept
			}
		default:
			content, hash, err := decodeEntry(data, id)
			if err == nil {
				// The content may be sound and still be refused, such as by a later version of the
				// program. It is then made again.
				err = use(content)
			}
			if err == nil {
				e.Outcome, e.Hash, e.Bytes = Fetched, hash, len(data)
				return e, nil
			}
			if c.Mode == ForceFetch {
				return e, &MissError{e.Path, err.Error()}
			}
			e.Outcome, e.Why = Remade, err.Error()
		}
	}
	content, err := make()
	if err != nil {
		return e, err
	}
	if err := use(content); err != nil {
		return e, err
	}
	data, hash := encodeEntry(content, id)
	e.Hash, e.Bytes = hash, len(data)
	switch {
	case e.Unkept != nil:
	case int64(len(data)) > maxEntry: // it would not be read
		e.Unkept = &Error{"write an entry", e.Path, &FormatError{0, fmt.Sprintf("entry has %d bytes; want at most %d", len(data), int64(maxEntry))}}
	default:
		if err := writeFileAtomically(e.Path, data); err != nil {
			e.Unkept = &Error{"write an entry", e.Path, err}
		}
	}
	return e, nil
}
