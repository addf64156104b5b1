gem 'a', "b
task :a => [
task
  gem(