// Package cache keeps lowered programs on disk, so that a network that has not changed is
// not lowered again.
//
//	structure, weights of each segment --+
//	source, options, platform -----------+--> identifier --> DIR/com.apple.e5rt.e5bundlecache
//	                                                           /<build>/<identifier>/model.bundle
//
// The documents describe such a cache: its key is content, a hash a segment over the
// network's structure and weights, combined with the resolved source, the options and the
// platform; an entry stands in a tree of the system's build and a double SHA-256. Which
// bytes are hashed they do not say, nor how an entry is laid out: both are this project's.
// The identifier is the double SHA-256 of the key's parts, each behind its length. An
// entry ends with its own hash, the documents' model.anehash: the double SHA-256 of every
// byte before it, so that a damaged entry is found and made again.
//
// Any number of processes may use one directory. An entry is written beside its place,
// flushed and renamed, so a reader finds a whole one or none; two that miss at once both
// make it, and the later rename puts the same bytes there.
package cache
