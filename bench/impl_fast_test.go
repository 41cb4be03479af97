//go:build !purego && (amd64 || arm64)

package bench

// impl names the arithmetic of this build in the names of benchmarks.
const impl = "fast"
