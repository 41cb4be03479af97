package loader

import (
	"bytes"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	for _, name := range exampleNames() {
		file, err := exampleFile(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				p, err := Read(name, bytes.NewReader(file), int64(len(file)))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Link(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
