package e5

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"io/fs"
	"strings"

	"anesim/loader"
)

// Find searches dir for the container files of the network's programs. It returns a map from the
// hash of each container found, in uppercase hexadecimal, to the name of its file. It skips files
// that cannot be read, and returns an error only if dir cannot be listed.
func (p *Program) Find(dir fs.FS) (map[string]string, error) {
	wanted := make(map[string]bool)
	for i := range p.Sections {
		if a := p.Sections[i].Inference; a != nil && a.Hash != "" {
			wanted[strings.ToUpper(a.Hash)] = true
		}
	}
	found := make(map[string]string)
	if len(wanted) == 0 {
		return found, nil
	}
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		hash, err := containerHash(dir, e.Name())
		if err != nil {
			continue // skip files that cannot be read
		}
		if _, twice := found[hash]; wanted[hash] && !twice {
			found[hash] = e.Name()
		}
	}
	return found, nil
}

// containerHash returns the hash of the named container in dir, in capital letters. It
// returns "" if the file is not a container.
func containerHash(dir fs.FS, name string) (string, error) {
	f, err := dir.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil {
		return "", err
	}
	if binary.LittleEndian.Uint32(magic[:]) != loader.MagicContainer {
		return "", nil
	}
	h := sha256.New()
	h.Write(magic[:])
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hashOf([sha256.Size]byte(h.Sum(nil))), nil
}
