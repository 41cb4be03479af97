package loader_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"

	"anesim/loader"
	"anesim/loader/lower"
)

// The identity layer, read and linked: where each descriptor reads and writes.
func Example() {
	file, err := lower.Identity()
	if err != nil {
		log.Fatal(err)
	}
	p, err := loader.Read("identity", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range p.Ports {
		fmt.Printf("%v %s %v at %#x\n", q.Direction, q.Name, q.Shape, q.Address)
	}
	l, err := p.Link()
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range l.Tasks {
		fmt.Printf("descriptor %d at %#x: source %#x, destination %#x\n", t.Index, t.Offset, t.Bases.Source1, t.Bases.Destination)
	}
	// Output:
	// input t0 [1 1 1 64] at 0x30008000
	// output t2 [1 1 1 64] at 0x3000c000
	// descriptor 0 at 0x0: source 0x30008000, destination 0x0
	// descriptor 1 at 0x200: source 0x0, destination 0x3000c000
}

// A container for another machine is refused by name.
func ExampleUnsupportedError() {
	file, err := lower.Identity()
	if err != nil {
		log.Fatal(err)
	}
	file[8] = 6
	_, err = loader.Read("other", bytes.NewReader(file), int64(len(file)))
	var u *loader.UnsupportedError
	fmt.Println(errors.As(err, &u), err)
	// Output: true container for A16/M3: unsupported subtype 6; want 4 (M1/A14)
}

// A broken container is refused with the byte that is wrong.
func ExampleFormatError() {
	file, err := lower.Identity()
	if err != nil {
		log.Fatal(err)
	}
	_, err = loader.Read("cut", bytes.NewReader(file[:0x1000]), 0x1000)
	fmt.Println(err)
	// Output: byte 0x14: size of the load commands exceeds the 0xfe0 bytes after the header: 0x32d8
}
