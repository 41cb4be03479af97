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
)

// A Mode says what a cache is used for.
type Mode uint8

// The modes. The documents have two options: force_recompilation makes an entry whether or
// not there is one, force_fetch_from_cache takes the one there is or fails.
const (
	FetchOrMake Mode = iota
	ForceRecompilation
	ForceFetch
)

// An Outcome is where a program came from.
type Outcome uint8

// The outcomes.
const (
	Fetched Outcome = iota
	Made            // there was no entry, or the mode asked for a new one
	Remade          // the entry was damaged
)

// String names the outcome.
func (o Outcome) String() string {
	if names := [...]string{"fetched", "made", "remade"}; int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}

// A Cache is a directory of entries. Its methods may be called from several goroutines and
// processes at once.
type Cache struct {
	Dir    string
	Build  string // what makes entries: a directory of its own below Dir
	Source string // of the key
	Mode   Mode
}

// Open is a cache in a directory, which need not be there yet, for entries of this
// executable: Build is the start of its SHA-256, so that a changed compiler never finds
// another's entries.
func Open(dir string) (*Cache, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, &Error{"find the executable", dir, err}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &Error{"read the executable", name, err}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, &Error{"read the executable", name, err}
	}
	return &Cache{Dir: dir, Build: hex.EncodeToString(h.Sum(nil)[:8])}, nil
}

// An Error is a cache that cannot be used.
type Error struct {
	Op, Path string
	Err      error
}

func (e *Error) Error() string { return fmt.Sprintf("cache: %s: %v", e.Op, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A MissError is an entry that has to be there and is not, or is damaged.
type MissError struct {
	Path string
	Why  string // of a damaged one
}

func (e *MissError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("cache: %s is damaged: %s", e.Path, e.Why)
	}
	return fmt.Sprintf("cache: no entry %s", e.Path)
}

// An Entry is what a call of Do came to.
type Entry struct {
	Outcome Outcome
	Path    string
	Key     Hash
	Hash    Hash   // of the entry, its anehash
	Bytes   int    // of the file
	Why     string // what was wrong with the entry that was made again
	Unkept  error  // an *Error if the entry is not in the tree, because it could not be read or written
}

// Names in the tree: the first is the documents', the file is ours.
const (
	treeName   = "com.apple.e5rt.e5bundlecache"
	bundleName = "model.bundle"
)

// Path is where the entry of a key stands.
func (c *Cache) Path(k *Key) string {
	return filepath.Join(c.Dir, treeName, c.Build, k.Identifier().String(), bundleName)
}

// Do gives use the content of the key's entry. Where there is none, or the one there is
// damaged or not to be used, make makes the content, which is kept. An entry whose content
// use refuses is damaged. A tree that cannot be read or written costs the making and is no
// error, but with ForceFetch: the entry says why it is not kept.
//
// Errors are a *MissError, an *Error, or those of make and, of what make made, of use.
func (c *Cache) Do(k *Key, use func([]byte) error, make func() ([]byte, error)) (Entry, error) {
	id := k.Identifier()
	e := Entry{Outcome: Made, Path: c.Path(k), Key: id}
	if c.Mode != ForceRecompilation {
		data, err := os.ReadFile(e.Path)
		switch {
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
			content, hash, err := open(data, id)
			if err == nil {
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
	data, hash := seal(content, id)
	e.Hash, e.Bytes = hash, len(data)
	if e.Unkept == nil {
		if err := write(e.Path, data); err != nil {
			e.Unkept = &Error{"keep an entry", e.Path, err}
		}
	}
	return e, nil
}
