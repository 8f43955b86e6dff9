import ArgumentParser

@main struct DossierCommand: ParsableCommand {}
