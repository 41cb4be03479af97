// Package browser opens the command's HTML pages in a headless Chromium. It is a module of
// its own, so that what drives a browser is no dependency of the model.
//
//	apt-get install chromium
//	cd bench/browser && go test ./... -shots DIR
package browser
